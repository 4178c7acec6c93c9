// SPDX-License-Identifier: Apache-2.0
//
// How many of a peer's witness datagrams go missing: counted over the last 20 half rounds, in each
// of which one is due. Counts rather than gaps, since arrivals fall on either side of our own
// ticks. Pure; the agent calls tick() twice a round.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>

namespace collwatch::agent {

class WitnessLoss {
 public:
  void on_heard() {
    heard_ever_ = true;
    ++counts_[now_];
  }

  /// A half round is over. Nothing counts before the first datagram.
  void tick() {
    if (!heard_ever_) return;
    ticks_ = std::min(ticks_ + 1, kWindow);
    now_ = (now_ + 1) % counts_.size();
    counts_[now_] = 0;
  }

  /// Share missing, 0 to 1. One datagram either way is a matter of phase, not of loss.
  double share() const {
    if (ticks_ == 0) return 0;
    std::size_t received = 0;
    for (std::size_t back = 0; back <= ticks_; ++back) {
      received += counts_[(now_ + counts_.size() - back) % counts_.size()];
    }
    const std::size_t due = ticks_;
    return received + 1 >= due ? 0
                               : static_cast<double>(due - received - 1) / static_cast<double>(due);
  }

 private:
  static constexpr std::size_t kWindow = 20;
  std::array<unsigned, kWindow + 1> counts_{};  ///< by half round, the present one at now_
  std::size_t now_ = 0;
  std::size_t ticks_ = 0;
  bool heard_ever_ = false;
};

}  // namespace collwatch::agent
