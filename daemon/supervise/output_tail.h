// SPDX-License-Identifier: Apache-2.0
//
// The last bytes that a worker printed, however much it printed: libraries write to stdout and
// stderr, and what they said last is evidence. Pure; used by worker.cpp.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace collwatch::supervise {

class OutputTail {
 public:
  explicit OutputTail(std::size_t capacity) : capacity_(capacity) {}

  void append(std::string_view bytes);

  /// At most `capacity` bytes, exactly as printed (any bytes, not necessarily UTF-8, and the first
  /// line may be cut).
  const std::string& text() const { return text_; }
  /// All that was ever appended.
  std::uint64_t total_bytes() const { return total_bytes_; }

 private:
  std::size_t capacity_;
  std::string text_;
  std::uint64_t total_bytes_ = 0;
};

}  // namespace collwatch::supervise
