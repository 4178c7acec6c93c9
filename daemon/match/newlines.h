// SPDX-License-Identifier: Apache-2.0
//
// How many lines end in a stretch of text. Used by the log engine for stretches in which nothing is
// of interest: counting is several times as fast as finding each line.
#pragma once

#include <cstddef>
#include <string_view>

namespace collwatch::match {

std::size_t newlines_in(std::string_view text);

/// Behind the last newline of the first `at` bytes, or 0.
std::size_t line_start(std::string_view text, std::size_t at);

}  // namespace collwatch::match
