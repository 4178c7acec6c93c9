// SPDX-License-Identifier: Apache-2.0
//
// Widths are counted in bytes: cells hold ASCII.
#include "daemon/cli/table.h"

#include <algorithm>

namespace collwatch::cli {

std::string painted(const std::string& text, Tone tone, Colour colour) {
  if (colour == Colour::no || tone == Tone::plain) return text;
  const char* const code = tone == Tone::good ? "32" : tone == Tone::doubtful ? "33" : "31";
  return std::string("\033[") + code + "m" + text + "\033[0m";
}

std::string Table::text(Colour colour) const {
  if (rows_.size() < 2) return "";
  std::vector<std::size_t> widths(rows_[0].size());
  for (const auto& row : rows_) {
    for (std::size_t i = 0; i < row.size(); ++i) {
      widths[i] = std::max(widths[i], row[i].text.size());
    }
  }
  std::string out = "\n";
  for (const auto& row : rows_) {
    std::string line;
    for (std::size_t i = 0; i < row.size(); ++i) {
      const std::string pad(widths[i] - row[i].text.size(), ' ');
      const std::string word = painted(row[i].text, row[i].tone, colour);
      line += (i > 0 ? "  " : "") + (row[i].right ? pad + word : word + pad);
    }
    line.erase(line.find_last_not_of(' ') + 1);
    out += line + "\n";
  }
  return out;
}

}  // namespace collwatch::cli
