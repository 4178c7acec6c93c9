// SPDX-License-Identifier: Apache-2.0
//
// Sums of bytes, in a shape that compilers turn into vector instructions of whatever machine.
#include "daemon/match/newlines.h"

#include <cstdint>
#include <cstring>

namespace collwatch::match {
namespace {

constexpr std::size_t kChunk = 128;  ///< at most 255, the largest sum that fits a byte

}  // namespace

std::size_t newlines_in(std::string_view text) {
  std::size_t count = 0;
  const char* at = text.data();
  std::size_t left = text.size();
  for (; left >= kChunk; left -= kChunk, at += kChunk) {
    std::uint8_t sum = 0;
    for (std::size_t i = 0; i < kChunk; ++i) {
      sum = static_cast<std::uint8_t>(sum + static_cast<std::uint8_t>(at[i] == '\n' ? 1 : 0));
    }
    count += sum;
  }
  for (std::size_t i = 0; i < left; ++i) count += at[i] == '\n' ? 1 : 0;
  return count;
}

std::size_t line_start(std::string_view text, std::size_t at) {
  const void* const found = memrchr(text.data(), '\n', at);
  if (found == nullptr) return 0;
  return static_cast<std::size_t>(static_cast<const char*>(found) - text.data()) + 1;
}

}  // namespace collwatch::match
