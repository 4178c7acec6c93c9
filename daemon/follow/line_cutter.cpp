// SPDX-License-Identifier: Apache-2.0
//
// One buffer: the unfinished line, and what was just read behind it.
#include "daemon/follow/line_cutter.h"

namespace collwatch::follow {

void LineCutter::add(std::string_view bytes, const Take& take) {
  held_ += bytes;
  const std::size_t newline = held_.rfind('\n');
  std::size_t cut = newline == std::string::npos ? 0 : newline + 1;
  if (cut > 0) take(std::string_view(held_).substr(0, cut), true);
  // The last byte may be the first half of "\r\n".
  const std::size_t end = held_.empty() ? 0 : held_.size() - 1;
  const std::size_t bar = end == 0 ? std::string::npos : held_.rfind('\r', end - 1);
  const bool is_bar = bar != std::string::npos && bar >= cut;
  const std::size_t piece = is_bar ? bar + 1 - cut : 0;
  if (piece > 0) take(std::string_view(held_).substr(cut, piece), false);
  held_.erase(0, cut + piece);
  if (held_.size() >= kMostHeld) flush(take);
}

void LineCutter::flush(const Take& take) {
  if (held_.empty()) return;
  take(held_, false);
  held_.clear();
}

}  // namespace collwatch::follow
