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
/// that RE2 forgets states and stays linear, but slower: what is built in shall never feel it.
inline constexpr std::int64_t kLeastMemory = std::int64_t{1} << 16;
inline constexpr std::int64_t kMostMemory = std::int64_t{1} << 20;
/// With more expressions than this, most of them somebody's own, they share kMemoryOfMany.
inline constexpr std::size_t kFew = 640;
inline constexpr std::int64_t kMemoryOfMany = std::int64_t{128} << 20;

inline std::int64_t memory_for_each_of(std::size_t expressions) {
  if (expressions <= kFew) return kMostMemory;
  return std::clamp(kMemoryOfMany / static_cast<std::int64_t>(expressions), kLeastMemory,
                    kMostMemory);
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
