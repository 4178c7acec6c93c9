// SPDX-License-Identifier: Apache-2.0
//
// How every expression is compiled. Private to daemon/match.
#pragma once

#include <re2/re2.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>

namespace collwatch::match {

/// What one expression may need: its program, and of its automaton what is kept at a time. Past
/// that RE2 forgets states and stays linear.
inline constexpr std::int64_t kLeastMemory = std::int64_t{1} << 16;
inline constexpr std::int64_t kMostMemory = std::int64_t{1} << 20;
/// What all of them together may need, as long as each has the least.
inline constexpr std::int64_t kMemoryInAll = std::int64_t{128} << 20;

inline std::int64_t memory_for_each_of(std::size_t expressions) {
  const auto count = static_cast<std::int64_t>(std::max<std::size_t>(expressions, 1));
  return std::clamp(kMemoryInAll / count, kLeastMemory, kMostMemory);
}

inline RE2::Options re2_options(std::int64_t memory) {
  RE2::Options options;
  options.set_log_errors(false);
  options.set_max_mem(memory);
  options.set_encoding(RE2::Options::EncodingLatin1);  // logs hold any bytes
  options.set_dot_nl(false);
  options.set_never_nl(true);
  return options;
}

}  // namespace collwatch::match
