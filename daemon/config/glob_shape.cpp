// SPDX-License-Identifier: Apache-2.0
//
// One pass over the pattern; braces are counted as glob(3) expands them.
#include "daemon/config/glob_shape.h"

#include <algorithm>
#include <vector>

namespace collwatch::config {
namespace {

/// A brace that is open: patterns of its finished alternatives, and of the one going on.
struct Level {
  std::size_t finished = 0;
  std::size_t current = 1;
};

std::size_t bounded(std::size_t count) {
  return std::min(count, kMostAlternatives + 1);
}

/// Where the bracket that opens at `at` closes, or npos: a ']' that comes first is one of its
/// characters, a slash is never in it, nor is what separates alternatives.
std::size_t end_of_bracket(std::string_view glob, std::size_t at, bool is_in_brace) {
  std::size_t i = at + 1;
  if (i < glob.size() && (glob[i] == '!' || glob[i] == '^')) ++i;
  for (const std::size_t first = i; i < glob.size() && glob[i] != '/'; ++i) {
    if (is_in_brace && (glob[i] == ',' || glob[i] == '}')) break;
    if (glob[i] == ']' && i > first) return i;
    if (glob[i] == '\\') ++i;
  }
  return std::string_view::npos;
}

}  // namespace

std::string problem_of_shape(std::string_view glob) {
  std::vector<Level> levels(1);
  for (std::size_t i = 0; i < glob.size(); ++i) {
    const char c = glob[i];
    if (c == '\\') {
      ++i;
    } else if (c == '*' && i + 1 < glob.size() && glob[i + 1] == '*') {
      return "has **, which there is not: one * for each folder in between";
    } else if (c == '[') {
      i = end_of_bracket(glob, i, levels.size() > 1);
      if (i == std::string_view::npos) return "has a [ that is not closed";
    } else if (c == '{') {
      levels.emplace_back();
    } else if (c == ',' && levels.size() > 1) {
      Level& level = levels.back();
      level.finished = bounded(level.finished + level.current);
      level.current = 1;
    } else if (c == '}' && levels.size() > 1) {
      const std::size_t count = bounded(levels.back().finished + levels.back().current);
      levels.pop_back();
      levels.back().current = bounded(levels.back().current * count);
    }
  }
  if (levels.size() > 1) return "has a { that is not closed";
  if (levels.back().current > kMostAlternatives) {
    return "has more than " + std::to_string(kMostAlternatives) + " alternatives in its {}";
  }
  return "";
}

}  // namespace collwatch::config
