// SPDX-License-Identifier: Apache-2.0
//
// The keys of an entry, in whatever version.
#include "daemon/flight/read_entry.h"

#include <algorithm>
#include <limits>
#include <optional>

namespace collwatch::flight {
namespace {

constexpr std::size_t kMostLooks = std::size_t{16} << 20;
constexpr std::size_t kMostWordBytes = std::size_t{64} << 20;
constexpr std::size_t kMostKeys = 64;
constexpr std::size_t kMostDimensions = 64;
constexpr std::size_t kLookedAtFrames = 32;
constexpr std::size_t kLongestList = 4096;  ///< bytes of a list of shapes that is shown

std::int64_t times(std::int64_t a, std::int64_t b) {
  constexpr std::int64_t kMost = std::numeric_limits<std::int64_t>::max();
  return b != 0 && a > kMost / b ? kMost : a * b;
}

std::int64_t plus(std::int64_t a, std::int64_t b) {
  constexpr std::int64_t kMost = std::numeric_limits<std::int64_t>::max();
  return a > kMost - b ? kMost : a + b;
}

/// Frames of PyTorch and of Python's own library say nothing about the user's program.
bool is_library(std::string_view file) {
  for (const std::string_view part : {"/torch/", "torch/distributed", "/lib/python", "<frozen"}) {
    if (file.find(part) != std::string_view::npos) return true;
  }
  return file.rfind("torch/", 0) == 0;
}

}  // namespace

std::string_view cut(std::string_view text) {
  return text.substr(0, kLongestName);
}

bool EntryReader::spend(std::size_t looks) {
  spent_ += looks;
  return spent_ <= kMostLooks && words_.bytes() <= kMostWordBytes;
}

std::uint32_t EntryReader::group(Word name, Word description) {
  const auto [it, is_new] =
      groups_.try_emplace(name, static_cast<std::uint32_t>(dump_.groups.size()));
  if (is_new) {
    Group group;
    group.name = name;
    dump_.groups.push_back(group);
  }
  Group& group = dump_.groups[it->second];
  if (group.description == kNoWord) group.description = description;
  return it->second;
}

std::string EntryReader::read(NodeId node, Entry& entry) {
  if (tree_.kind(node) != Kind::map) return "is no map";
  const std::vector<NodeId>& pairs = tree_.children(node);
  if (pairs.size() > 2 * kMostKeys) return "has more keys than any version of the recorder";
  if (!spend(pairs.size())) return "the dump refers to itself too often";
  bool has_group = false;
  for (std::size_t i = 0; i + 1 < pairs.size(); i += 2) {
    const std::string_view name = tree_.text(pairs[i]);
    has_group = has_group || name == "process_group";
    if (std::string wrong = key(name, pairs[i + 1], entry); !wrong.empty())
      return "key '" + std::string(cut(name)) + "': " + wrong;
  }
  if (has_group) return {};
  // Before groups had names there was their number.
  const auto id = tree_.at(node, "pg_id");
  const auto number = id ? tree_.integer(*id) : std::nullopt;
  entry.group = group(words_.of(std::to_string(number.value_or(0))), kNoWord);
  return {};
}

std::string EntryReader::key(std::string_view name, NodeId value, Entry& entry) {
  if (name == "record_id") return number(value, entry.record);
  if (name == "collective_seq_id") return number(value, entry.seq);
  if (name == "seq_id") return entry.seq < 0 ? number(value, entry.seq) : std::string();
  if (name == "p2p_seq_id") return number(value, entry.p2p_seq);
  if (name == "op_id") return number(value, entry.op_id);
  if (name == "timeout_ms") return number(value, entry.timeout_ms);
  if (name == "time_created_ns") return number(value, entry.created_ns);
  if (name == "time_discovered_started_ns") return number(value, entry.started_ns);
  if (name == "time_discovered_completed_ns") return number(value, entry.completed_ns);
  if (name == "process_group") return name_of_group(value, entry);
  if (name == "profiling_name") {
    if (tree_.kind(value) != Kind::text) return "is no text";
    entry.op = words_.of(cut(tree_.text(value)));
  } else if (name == "state") {
    entry.state = state_of(tree_.text(value));
  } else if (name == "is_p2p") {
    entry.is_p2p = tree_.integer(value).value_or(0) != 0;
  } else if (name == "retired") {
    entry.is_retired = tree_.integer(value).value_or(0) != 0;
  } else if (name == "input_sizes" || name == "output_sizes") {
    const bool in = name == "input_sizes";
    Shapes all;
    if (std::string wrong = shapes(value, all); !wrong.empty()) return wrong;
    (in ? entry.inputs : entry.outputs) = all.shapes;
    (in ? entry.input_counts : entry.output_counts) = all.counts;
    (in ? entry.input_total : entry.output_total) = all.total;
    (in ? entry.even_inputs : entry.even_outputs) = all.is_even;
  } else if (name == "input_dtypes") {
    return types(value, entry.input_types);
  } else if (name == "output_dtypes") {
    return types(value, entry.output_types);
  } else if (name == "frames") {
    entry.code = code_of(value);
  }
  return {};
}

std::string EntryReader::number(NodeId value, std::int64_t& into) const {
  if (tree_.kind(value) == Kind::none) return {};
  const auto number = tree_.integer(value);
  if (!number) return "is no whole number";
  into = *number;
  return {};
}

/// (name, description), or the name alone.
std::string EntryReader::name_of_group(NodeId value, Entry& entry) {
  NodeId name = value;
  Word description = kNoWord;
  if (tree_.kind(value) == Kind::list) {
    const std::vector<NodeId>& parts = tree_.children(value);
    if (parts.empty()) return "is empty";
    name = parts[0];
    if (parts.size() > 1) description = words_.of(cut(tree_.text(parts[1])));
  }
  if (tree_.kind(name) != Kind::text) return "names no group";
  entry.group = group(words_.of(cut(tree_.text(name))), description);
  return {};
}

std::string EntryReader::shapes(NodeId value, Shapes& into) {
  const std::vector<NodeId>& tensors = tree_.children(value);
  std::string shown = "[";
  std::string counts = "[";
  std::optional<std::int64_t> first;
  for (const NodeId tensor : tensors) {
    if (tree_.kind(tensor) != Kind::list) return "is no list of shapes";
    const std::vector<NodeId>& sizes = tree_.children(tensor);
    if (sizes.size() > kMostDimensions) return "has a tensor of too many dimensions";
    if (!spend(1 + sizes.size())) return "the dump refers to itself too often";
    std::int64_t elements = 1;
    std::string shape = "[";
    for (const NodeId size : sizes) {
      const auto length = tree_.integer(size);
      if (!length || *length < 0) return "has a size that is no number";
      elements = times(elements, *length);
      shape += (shape.size() == 1 ? "" : ", ") + std::to_string(*length);
    }
    if (shown.size() < kLongestList) shown += (shown.size() == 1 ? "" : ", ") + shape + "]";
    counts += (counts.size() == 1 ? "" : ", ") + std::to_string(elements);
    into.total = plus(into.total, elements);
    into.is_even = into.is_even && first.value_or(elements) == elements;
    first = elements;
  }
  into.shapes = words_.of(shown + "]");
  into.counts = words_.of(counts + "]");
  return {};
}

std::string EntryReader::types(NodeId value, Word& into) {
  const std::vector<NodeId>& list = tree_.children(value);
  if (!spend(list.size())) return "the dump refers to itself too often";
  std::string all = "[";
  bool is_uniform = true;
  for (const NodeId one : list) is_uniform = is_uniform && tree_.text(one) == tree_.text(list[0]);
  const std::size_t shown = is_uniform ? std::min<std::size_t>(list.size(), 1) : list.size();
  for (std::size_t i = 0; i < shown; ++i) {
    all += (i == 0 ? "" : ", ") + std::string(cut(tree_.text(list[i])));
  }
  into = words_.of(all + "]");
  return {};
}

State EntryReader::state_of(std::string_view text) {
  for (const State state : {State::scheduled, State::started, State::completed}) {
    if (text == state_name(state)) return state;
  }
  return State::unknown;
}

Word EntryReader::code_of(NodeId frames) {
  const auto known = frames_.find(frames);
  if (known != frames_.end()) return known->second;
  Word code = kNoWord;
  const std::vector<NodeId>& list = tree_.children(frames);
  for (std::size_t i = 0; i < std::min(list.size(), kLookedAtFrames) && code == kNoWord; ++i) {
    if (tree_.kind(list[i]) != Kind::map || tree_.children(list[i]).size() > 2 * kMostKeys)
      continue;
    if (!spend(1)) break;
    const auto file = tree_.at(list[i], "filename");
    const auto line = tree_.at(list[i], "line");
    if (!file || tree_.text(*file).empty() || is_library(tree_.text(*file))) continue;
    std::string where(cut(tree_.text(*file)));
    if (const auto number = line ? tree_.integer(*line) : std::nullopt)
      where += ":" + std::to_string(*number);
    code = words_.of(where);
  }
  frames_.emplace(frames, code);
  return code;
}

}  // namespace collwatch::flight
