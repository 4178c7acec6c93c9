// SPDX-License-Identifier: Apache-2.0
//
// Whose setting is not everybody's? Used for what all members must share (Gloo build, length of a
// round), so that all agents name the same odd one instead of each other.
#pragma once

#include <map>
#include <string>
#include <vector>

namespace collwatch::agent {

/// `values`: member -> its value; empty values are unknown and not counted. The commonest one; where
/// none is, that of `self`, for with two nobody can say.
inline std::string common_value(const std::map<std::string, std::string>& values,
                                const std::string& self) {
  std::map<std::string, int> count;
  for (const auto& [member, value] : values) {
    if (!value.empty()) ++count[value];
  }
  const auto own = values.find(self);
  std::string common = own == values.end() ? "" : own->second;
  for (const auto& [value, members] : count) {
    if (common.empty() || members > count[common]) common = value;
  }
  return common;
}

/// Those whose value is known and not the common one.
inline std::vector<std::string> unlike_the_rest(const std::map<std::string, std::string>& values,
                                                const std::string& self) {
  const std::string common = common_value(values, self);
  std::vector<std::string> odd;
  for (const auto& [member, value] : values) {
    if (!value.empty() && value != common) odd.push_back(member);
  }
  return odd;
}

}  // namespace collwatch::agent
