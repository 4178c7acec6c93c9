// SPDX-License-Identifier: Apache-2.0
//
// How many of a peer's witness datagrams go missing: counted over the last 40 half rounds in which
// one was due. Counts rather than gaps, since arrivals fall on either side of our own ticks. Pure;
// the agent calls tick() twice a round.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

namespace collwatch::agent {

class WitnessLoss {
 public:
  void on_heard() {
    heard_ever_ = true;
    ++slots_[now_].received;
  }

  /// A half round is over. Nothing counts before the first datagram, nor while none is due (the
  /// edge fails: a dead peer is not a lossy path).
  void tick(bool due) {
    if (!heard_ever_) return;
    slots_[now_].counts = due;
    now_ = (now_ + 1) % slots_.size();
    slots_[now_] = Slot{};
  }

  /// The edge has just failed: what was missing shortly before was the fault, not loss.
  void forget_recent() {
    for (std::size_t back = 0; back < kDoubtful; ++back) {
      slots_[(now_ + slots_.size() - back) % slots_.size()] = Slot{};
    }
  }

  std::int32_t due() const {
    std::int32_t due = 0;
    for (const Slot& slot : slots_) due += slot.counts ? 1 : 0;
    return due;
  }

  /// Of those due. One datagram either way is a matter of phase, not of loss.
  std::int32_t missing() const {
    std::int32_t received = 0;
    for (const Slot& slot : slots_) received += slot.counts ? slot.received : 0;
    received += slots_[now_].received;
    const std::int32_t missing = due() - received - 1;
    return missing > 0 ? missing : 0;
  }

  /// How many of 40 go missing, at most; -1 while too few were due to say.
  std::int32_t of_forty() const {
    constexpr std::int32_t kEnough = 16;
    return due() < kEnough ? -1 : (missing() * 40 + due() / 2) / due();
  }

  /// Share missing, 0 to 1.
  double share() const {
    return due() == 0 ? 0 : static_cast<double>(missing()) / static_cast<double>(due());
  }

 private:
  struct Slot {
    std::int32_t received = 0;
    bool counts = false;
  };
  static constexpr std::size_t kWindow = 40;
  static constexpr std::size_t kDoubtful = 5;  ///< half rounds: timeout, round, and the begun one
  std::array<Slot, kWindow + 1> slots_{};      ///< by half round, the present one at now_
  std::size_t now_ = 0;
  bool heard_ever_ = false;
};

}  // namespace collwatch::agent
