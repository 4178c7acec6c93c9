// SPDX-License-Identifier: Apache-2.0
//
// Whether the wildcards of a watch.logs pattern mean what they look like, and no more files than a
// scan can look for. Used by the key watch.logs.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace collwatch::config {

inline constexpr std::size_t kMostAlternatives = 64;

/// "" or what is wrong, to be put behind the pattern.
std::string problem_of_shape(std::string_view glob);

}  // namespace collwatch::config
