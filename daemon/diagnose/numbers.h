// SPDX-License-Identifier: Apache-2.0
//
// Lists of ranks as logs write them ("4, 5", "[0,3-5]"), and back. Pure.
#pragma once

#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

namespace collwatch::diagnose {

/// At most 100,000 numbers; what is not a number is skipped.
std::vector<int> number_list(std::string_view text);

std::optional<int> number(const std::string* text);

/// "0, 2 and 5"; "0 to 7" where it is a range of more than three.
std::string in_words(const std::set<int>& numbers);

}  // namespace collwatch::diagnose
