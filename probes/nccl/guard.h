// SPDX-License-Identifier: Apache-2.0
//
// Ends this process at a deadline, wherever its main thread is: inside a call that waits (older
// libraries have no others, the driver's never end on a dead GPU). First the main thread's last
// word is said for it. A process that is stuck in the kernel does not end even so; then the daemon
// says that it cannot be reaped. One thread of its own.
#pragma once

#include <chrono>
#include <condition_variable>
#include <functional>
#include <mutex>
#include <thread>

namespace collwatch::nccl_probe {

/// The worker's exit codes besides 0 (sysexits(3) where there is one).
enum ExitCode { kExitStopped = 0, kExitFailed = 3, kExitLate = 4, kExitBadRequest = 64 };

class Guard {
 public:
  using Clock = std::chrono::steady_clock;

  /// `last_word` is called from the guard's thread, at most once, right before the end.
  explicit Guard(std::function<void()> last_word);
  ~Guard();
  Guard(const Guard&) = delete;
  Guard& operator=(const Guard&) = delete;

  void arm(Clock::time_point deadline);
  void disarm();

 private:
  void watch();

  std::function<void()> last_word_;
  std::mutex mutex_;
  std::condition_variable changed_;
  Clock::time_point deadline_ = Clock::time_point::max();
  bool is_over_ = false;
  std::thread thread_;
};

}  // namespace collwatch::nccl_probe
