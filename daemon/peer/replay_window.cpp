// SPDX-License-Identifier: Apache-2.0
//
// The window's arithmetic.
#include "daemon/peer/replay_window.h"

namespace collwatch::peer {

bool ReplayWindow::take(std::uint64_t sequence) {
  if (sequence == 0) return false;
  if (sequence > highest_) {
    const std::uint64_t ahead = sequence - highest_;
    seen_ = ahead < kSize ? seen_ << ahead : 0;
    seen_ |= 1U;
    highest_ = sequence;
    return true;
  }
  const std::uint64_t behind = highest_ - sequence;
  if (behind >= kSize) return false;
  const std::uint64_t bit = std::uint64_t{1} << behind;
  if ((seen_ & bit) != 0) return false;
  seen_ |= bit;
  return true;
}

}  // namespace collwatch::peer
