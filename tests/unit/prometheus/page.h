// SPDX-License-Identifier: Apache-2.0
//
// A rendered page taken apart just enough to make claims about it.
#pragma once

#include <set>
#include <sstream>
#include <string>
#include <vector>

namespace collwatch::test {

/// The lines that are samples.
inline std::vector<std::string> samples(const std::string& page) {
  std::vector<std::string> out;
  std::istringstream in(page);
  for (std::string line; std::getline(in, line);) {
    if (!line.empty() && line[0] != '#') out.push_back(line);
  }
  return out;
}

/// The samples whose name (up to '{' or ' ') is `name`.
inline std::vector<std::string> samples_of(const std::string& page, const std::string& name) {
  std::vector<std::string> out;
  for (const std::string& line : samples(page)) {
    if (line.substr(0, line.find_first_of("{ ")) == name) out.push_back(line);
  }
  return out;
}

/// Name and labels of each sample; fewer than samples when a series stands there twice.
inline std::set<std::string> distinct_series(const std::string& page) {
  std::set<std::string> out;
  for (const std::string& line : samples(page)) out.insert(line.substr(0, line.rfind(' ')));
  return out;
}

inline bool has(const std::string& page, const std::string& text) {
  return page.find(text) != std::string::npos;
}

}  // namespace collwatch::test
