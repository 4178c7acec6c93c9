// SPDX-License-Identifier: Apache-2.0
//
// The values that collectives carry, and what must come out. Pure; header-only because the fills
// are loops that the compiler should see whole.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace collwatch::gloo_probe {

constexpr std::uint32_t scramble(std::uint32_t x) {  // the murmur3 finaliser
  x = (x ^ (x >> 16)) * 0x85ebca6bU;
  x = (x ^ (x >> 13)) * 0xc2b2ae35U;
  return x ^ (x >> 16);
}

/// Element `index` of `rank`'s contribution under `seed`.
constexpr std::uint32_t value_of(std::uint32_t seed, std::uint32_t rank, std::size_t index) {
  const auto base = scramble(seed + static_cast<std::uint32_t>(index));
  return base * (2 * rank + 1) + scramble(rank + 1);
}

/// The sum of element `index` over ranks 0 .. size-1, modulo 2^32.
constexpr std::uint32_t sum_of(std::uint32_t seed, std::uint32_t size, std::size_t index) {
  std::uint32_t constant = 0;
  for (std::uint32_t rank = 0; rank < size; ++rank) constant += scramble(rank + 1);
  return scramble(seed + static_cast<std::uint32_t>(index)) * size * size + constant;
}

/// Fills `out` with `rank`'s elements from `first` on.
inline void fill_values(std::span<std::uint32_t> out, std::uint32_t seed, std::uint32_t rank,
                        std::size_t first = 0) {
  for (std::size_t i = 0; i < out.size(); ++i) out[i] = value_of(seed, rank, first + i);
}

/// How many elements of `in` are not `rank`'s from `first` on.
inline std::size_t wrong_values(std::span<const std::uint32_t> in, std::uint32_t seed,
                                std::uint32_t rank, std::size_t first = 0) {
  std::size_t wrong = 0;
  for (std::size_t i = 0; i < in.size(); ++i) wrong += in[i] != value_of(seed, rank, first + i);
  return wrong;
}

/// How many elements of `in` are not the sum over `size` ranks.
inline std::size_t wrong_sums(std::span<const std::uint32_t> in, std::uint32_t seed,
                              std::uint32_t size) {
  const std::uint32_t constant = sum_of(seed, size, 0) - scramble(seed) * size * size;
  std::size_t wrong = 0;
  for (std::size_t i = 0; i < in.size(); ++i) {
    wrong += in[i] != scramble(seed + static_cast<std::uint32_t>(i)) * size * size + constant;
  }
  return wrong;
}

}  // namespace collwatch::gloo_probe
