// SPDX-License-Identifier: Apache-2.0
//
// Finds any of many literals in text at the speed of memory, letter case ignored. Of every literal
// one window of the same few bytes is looked for, where ordinary text is least like it; wherever a
// window occurs, it covers exactly one of the positions that are a fixed stride apart, so only
// there a few bytes (a gram) are hashed and looked up in a bit table that fits the first cache.
// Exact: what the table lets through is compared with the whole literal. Plain C++, no vector
// instructions, so it runs the same everywhere. Used by Matcher; read-only once built.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace collwatch::match {

struct Hit {
  std::size_t at = 0;  ///< somewhere in the literal
  int literal = 0;     ///< its index
};

class Sampler {
 public:
  static constexpr std::size_t kGram = 5;
  static constexpr std::size_t kWidest = 8;  ///< of a window

  Sampler() = default;

  /// The shortest literal, of at least kGram bytes, says how wide the window is and so how far
  /// apart the positions are: keep the short ones in a Sampler of their own.
  explicit Sampler(std::vector<std::string> literals);

  /// Appends each occurrence once, line by line in the order of the text.
  void find(std::string_view text, std::vector<Hit>& hits) const;

 private:
  struct Place {
    std::uint64_t window = 0;  ///< its bytes, folded
    std::int32_t literal = 0;
    std::uint16_t in_literal = 0;  ///< where the window is
    std::uint8_t in_window = 0;    ///< where the gram is
  };

  void check_four(std::string_view text, std::size_t at, std::vector<Hit>& hits) const;
  void check(std::string_view text, std::size_t at, std::uint32_t bucket,
             std::vector<Hit>& hits) const;

  std::vector<std::string> literals_;
  std::size_t stride_ = 1;
  std::uint64_t window_mask_ = 0;
  std::vector<std::uint64_t> unset_;   ///< without two bits in a word for each gram
  std::vector<std::uint32_t> bucket_;  ///< of a shorter hash: where its places begin
  std::vector<Place> places_;
};

/// Whether two stretches are equal but for the case of letters. (A few signs count as equal, too:
/// enough for a filter.)
bool equal_folded(const char* a, const char* b, std::size_t size);

/// How unlikely ordinary log text is to contain `part`; larger is rarer.
double rarity(std::string_view part);

}  // namespace collwatch::match
