// SPDX-License-Identifier: Apache-2.0
//
// Bytes as they arrive into whole lines: what has no end yet is held back until its rest comes, for
// as long as the owner likes (flush) and never more than kMostHeld bytes of it. A progress bar,
// which ends its states with carriage returns, is handed on state by state. Pure.
#pragma once

#include <cstddef>
#include <functional>
#include <string>
#include <string_view>

namespace collwatch::follow {

class LineCutter {
 public:
  static constexpr std::size_t kMostHeld = std::size_t{64} << 10;

  /// Some lines, or (not `ends_line`) a piece of one whose rest follows in the next call.
  using Take = std::function<void(std::string_view text, bool ends_line)>;

  void add(std::string_view bytes, const Take& take);
  /// Hands on what is held, though its line has no end yet.
  void flush(const Take& take);
  void clear() { held_.clear(); }

  std::size_t held() const { return held_.size(); }

 private:
  std::string held_;
};

}  // namespace collwatch::follow
