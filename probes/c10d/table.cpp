// SPDX-License-Identifier: Apache-2.0
//
// Three grids (dtypes, ReduceOps, other devices), then every text that stood behind a mark.
#include "probes/c10d/table.h"

#include <algorithm>
#include <map>
#include <utility>
#include <vector>

#include "probes/c10d/combination.h"

namespace collwatch::c10d_probe {
namespace {

using wire::C10dCell;
using wire::C10dEnd;

using Grid = std::map<std::pair<std::string, std::string>, const C10dCell*>;  ///< row, column

constexpr const char* kUnchecked =
    "The tensor's address goes to the kernel unchecked. Refused, crash or hang: which one depends "
    "on "
    "timing.";

/// Whether it fails one way or another is a race inside the library, and no two runs agree.
bool is_unchecked(const C10dCell& cell) {
  const bool failed =
      cell.end == C10dEnd::refused || cell.end == C10dEnd::crash || cell.end == C10dEnd::hang;
  return failed && cell.device != "cpu" && cell.op.find("send_recv") == 0 &&
         cell.text.find("unsupported device") == std::string::npos;
}

/// Numbers the distinct texts as they come.
class Notes {
 public:
  std::string mark(const C10dCell& cell) {
    if (is_unchecked(cell)) return "**unsafe** " + number_of(kUnchecked);
    switch (cell.end) {
      case C10dEnd::ok:
        return "ok";
      case C10dEnd::accepted:
        return "accepted";
      case C10dEnd::unavailable:
        return "-";
      default:
        break;
    }
    const std::string word = cell.end == C10dEnd::wrong_values ? "**wrong values**"
                             : cell.end == C10dEnd::refused
                                 ? "no"
                                 : "**" + std::string(model::name(cell.end)) + "**";
    return word + " " + number(cell);
  }

  std::string list() const {
    std::string text;
    for (std::size_t i = 0; i < texts_.size(); ++i) {
      text += std::to_string(i + 1) + ". " + texts_[i] + "\n";
    }
    return text;
  }

 private:
  std::string number(const C10dCell& cell) {
    // Which values were wrong differs from case to case, and is the point.
    return number_of(
        cell.end == C10dEnd::wrong_values
            ? cell.op + ": " + cell.text
            : "`" + (cell.text.empty() ? std::string(model::name(cell.end)) : cell.text) + "`");
  }

  std::string number_of(const std::string& text) {
    auto found = std::find(texts_.begin(), texts_.end(), text);
    if (found == texts_.end()) found = texts_.insert(texts_.end(), text);
    return std::to_string(found - texts_.begin() + 1);
  }

  std::vector<std::string> texts_;
};

std::string grid(const std::string& corner, const std::vector<std::string>& rows,
                 const std::vector<std::string>& columns, const Grid& cells, Notes& notes) {
  std::string head = "| " + corner + " |";
  std::string rule = "|---|";
  for (const std::string& column : columns) {
    head += " " + column + " |";
    rule += "---|";
  }
  std::string text = head + "\n" + rule + "\n";
  for (const std::string& row : rows) {
    text += "| " + row + " |";
    for (const std::string& column : columns) {
      const auto found = cells.find({row, column});
      text += found == cells.end() ? " |" : " " + notes.mark(*found->second) + " |";
    }
    text += "\n";
  }
  return text;
}

/// Of the words in `all`, in their order, those that stand in the grid; an empty word is "any".
std::vector<std::string> used(const std::vector<std::string>& all, const Grid& cells,
                              bool columns) {
  std::vector<std::string> result;
  for (const std::string& word : all) {
    const bool is_there = std::any_of(cells.begin(), cells.end(), [&](const auto& cell) {
      return (columns ? cell.first.second : cell.first.first) == word;
    });
    if (is_there) result.push_back(word);
  }
  return result;
}

std::string by_dtype(const wire::C10dReport& report, Notes& notes) {
  // Dtypes down, operations across would be too wide: operations down, and dtypes across.
  Grid cells;
  for (const C10dCell& cell : report.cells) {
    if (cell.device != "cpu" || cell.dtype.empty() || cell.end == C10dEnd::unavailable) continue;
    if (cell.reduce_op.empty() || cell.reduce_op == "SUM") cells[{cell.op, cell.dtype}] = &cell;
  }
  return grid("CPU tensors (SUM)", used(operations(), cells, false), used(dtypes(), cells, true),
              cells, notes);
}

std::string by_reduce_op(const wire::C10dReport& report, Notes& notes) {
  std::string text;
  for (const char* dtype : {"float32", "int32"}) {
    Grid cells;
    for (const C10dCell& cell : report.cells) {
      if (cell.device != "cpu" || cell.reduce_op.empty() || cell.dtype != dtype) continue;
      if (cell.end != C10dEnd::unavailable) cells[{cell.op, cell.reduce_op}] = &cell;
    }
    text += (text.empty() ? "" : "\n") + grid(std::string(dtype), used(operations(), cells, false),
                                              used(reduce_ops(), cells, true), cells, notes);
  }
  return text;
}

std::string by_device(const wire::C10dReport& report, Notes& notes) {
  Grid cells;
  for (const C10dCell& cell : report.cells) {
    if (cell.op.empty() || cell.end == C10dEnd::unavailable) continue;
    const bool is_plain = cell.dtype.empty() || cell.dtype == "float32";
    const bool is_sum = cell.reduce_op.empty() || cell.reduce_op == "SUM";
    if (is_plain && is_sum) cells[{cell.op, cell.device}] = &cell;
  }
  std::string text = grid("float32, SUM", used(operations(), cells, false),
                          used({"cpu", "cuda", "meta"}, cells, true), cells, notes);
  for (const C10dCell& cell : report.cells) {
    if (cell.op.empty())
      text += "\nNo tensor can be made on `" + cell.device + "` here: `" + cell.text + "`\n";
  }
  return text;
}

std::string stores(const wire::C10dReport& report) {
  std::string text = "| store | ProcessGroupGloo through it |\n|---|---|\n";
  for (const wire::C10dStore& store : report.stores) {
    text += "| " + store.store + " | " + std::string(model::name(store.end)) +
            (store.text.empty() ? "" : ": `" + store.text + "`") + " |\n";
  }
  return text;
}

}  // namespace

std::string to_markdown(const wire::C10dReport& report) {
  Notes notes;
  std::string text = "# ProcessGroupGloo of libtorch " + report.versions.torch + "\n\n";
  text +=
      "Measured, not written: the output of `collwatch-probe-c10d --markdown`. Each cell is one "
      "call\n"
      "between two processes on one host whose result was compared with arithmetic. `ok`: right\n"
      "values. `no`: refused, with the note's words. `wrong values`: the call reported success.\n"
      "`crash`: the process died. `hang`: no answer. `accepted`: the call returned, and there are "
      "no\n"
      "values to look at. What this version does not have is left out. Calls go to "
      "ProcessGroupGloo\n"
      "itself; Python's torch.distributed may refuse some of them earlier.\n\n";
  text += by_dtype(report, notes);
  text += "\n## ReduceOps\n\n" + by_reduce_op(report, notes);
  text += "\n## Devices\n\n" + by_device(report, notes);
  text += "\n## Rendezvous\n\n" + stores(report);
  const std::string list = notes.list();
  if (!list.empty()) text += "\n## Notes\n\n" + list;
  return text;
}

}  // namespace collwatch::c10d_probe
