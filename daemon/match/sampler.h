// SPDX-License-Identifier: Apache-2.0
//
// Finds any of many literals in text at the speed of memory, letter case ignored. Every literal is
// cut to one length; wherever one occurs, it covers one of the positions that are a fixed stride
// apart, so only there four bytes are hashed and looked up in a bit table that fits the first
// cache. Exact: what the table lets through is compared. Plain C++, no vector instructions, so it
// runs the same everywhere. Used by Matcher; read-only once built.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace collwatch::match {

struct Hit {
  std::size_t at = 0;  ///< where the literal begins
  int literal = 0;     ///< its index
};

class Sampler {
 public:
  static constexpr std::size_t kGram = 4;

  Sampler() = default;

  /// All literals must have `length` bytes, at least kGram and at most 8.
  Sampler(const std::vector<std::string>& literals, std::size_t length);

  bool empty() const { return literals_.empty(); }

  /// Appends the occurrences in the order of the text.
  void find(std::string_view text, std::vector<Hit>& hits) const;

 private:
  struct Place {
    int literal;
    std::uint8_t offset;  ///< of the gram in the literal
  };

  void check(std::string_view text, std::size_t at, std::uint32_t gram,
             std::vector<Hit>& hits) const;

  std::size_t length_ = 8;
  std::size_t stride_ = 5;
  std::uint64_t mask_ = 0;
  std::vector<std::uint64_t> literals_;  ///< folded
  std::vector<std::uint64_t> table_;
  std::unordered_map<std::uint32_t, std::vector<Place>> places_;
};

/// How unlikely ordinary log text is to contain `part`; larger is rarer.
double rarity(std::string_view part);

/// The part of `literal` with `length` bytes that ordinary text is least likely to contain.
std::string rarest_part(const std::string& literal, std::size_t length);

}  // namespace collwatch::match
