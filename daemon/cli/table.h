// SPDX-License-Identifier: Apache-2.0
//
// Words in columns that are as wide as their widest cell, and colours for those that matter. Pure;
// used by the commands that print text.
#pragma once

#include <string>
#include <vector>

namespace collwatch::cli {

enum class Colour { no, yes };
enum class Tone { plain, good, doubtful, bad };

std::string painted(const std::string& text, Tone tone, Colour colour);

struct Cell {
  std::string text;
  Tone tone = Tone::plain;
  bool right = false;  ///< aligned
};

class Table {
 public:
  explicit Table(std::vector<Cell> heading) { rows_.push_back(std::move(heading)); }
  void add(std::vector<Cell> row) { rows_.push_back(std::move(row)); }

  /// After an empty line; nothing where there is only the heading.
  std::string text(Colour colour) const;

 private:
  std::vector<std::vector<Cell>> rows_;
};

}  // namespace collwatch::cli
