// SPDX-License-Identifier: Apache-2.0
//
// Reports a connect on time although the thread inside it must stay longer. The builds whose
// devices share a listener keep a pointer to the pair in every connect that is under way and follow
// it when the connection comes at last, after a retransmitted SYN for instance; a pair must not be
// destroyed while that can still happen. So on these builds Gloo is given long enough for three
// retransmissions, and the control thread gives the attempt up, in public, at the real deadline.
#pragma once

#include <algorithm>
#include <chrono>
#include <mutex>
#include <optional>

#include "probes/gloo/build_id.h"

namespace collwatch::gloo_probe {

class ConnectWatch {
 public:
  using Clock = std::chrono::steady_clock;

  /// The attempt's thread, around the connect. end() is false if it was given up meanwhile.
  void begin(Clock::time_point deadline) {
    const std::lock_guard lock(mutex_);
    deadline_ = deadline;
  }
  bool end() {
    const std::lock_guard lock(mutex_);
    deadline_.reset();
    return !given_up_;
  }

  /// The control thread: true once, when a connect is under way and past its deadline.
  bool give_up(Clock::time_point now) {
    const std::lock_guard lock(mutex_);
    if (!deadline_ || now < *deadline_ || given_up_) return false;
    return given_up_ = true;
  }

 private:
  std::mutex mutex_;
  std::optional<Clock::time_point> deadline_;
  bool given_up_ = false;
};

/// The dial before the connect has the same deadline and better words.
inline constexpr std::chrono::milliseconds kWatchGrace{20};

/// The timeout that a context needs for a connect of `timeout`: Gloo waits five times as long.
constexpr std::chrono::milliseconds context_timeout(std::chrono::milliseconds timeout) {
  constexpr std::chrono::milliseconds kThreeRetransmissions{8000};
  if (kDeviceListener) timeout = std::max(timeout, kThreeRetransmissions);
  return std::max(timeout / 5, std::chrono::milliseconds(1));
}

}  // namespace collwatch::gloo_probe
