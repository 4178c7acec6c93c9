// SPDX-License-Identifier: Apache-2.0
//
// Asks every agent for its status, about six times a second, each from a thread of its own, so that
// one that is stopped keeps nobody waiting. The demo's main thread takes the samples.
#pragma once

#include <atomic>
#include <chrono>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "daemon/demo/watch.h"

namespace collwatch::demo {

class Poller {
 public:
  struct Target {
    std::string url;
    std::string netns;  ///< empty: the host's own network
  };
  using Clock = std::chrono::steady_clock;

  /// Samples are stamped in seconds since `origin`, when the answer (or its absence) came.
  Poller(std::vector<Target> targets, Clock::time_point origin);
  ~Poller();
  Poller(const Poller&) = delete;
  Poller& operator=(const Poller&) = delete;

  /// What came in since the last call, in order of time.
  std::vector<Sample> take();
  /// The last answer of `agent` that could not be understood, for people; usually empty.
  std::string complaint(int agent);

 private:
  void ask_for_ever(int agent);

  std::vector<Target> targets_;
  Clock::time_point origin_;
  std::atomic<bool> stop_{false};
  std::mutex mutex_;  // guards the two below
  std::vector<Sample> samples_;
  std::vector<std::string> complaints_;
  std::vector<std::thread> threads_;
};

}  // namespace collwatch::demo
