// SPDX-License-Identifier: Apache-2.0
//
// A thread that waits for a time or for a change of mind.
#include "probes/nccl/guard.h"

#include <unistd.h>

#include <utility>

namespace collwatch::nccl_probe {

Guard::Guard(std::function<void()> last_word)
    : last_word_(std::move(last_word)), thread_([this] { watch(); }) {}

Guard::~Guard() {
  {
    const std::lock_guard lock(mutex_);
    is_over_ = true;
  }
  changed_.notify_all();
  thread_.join();
}

void Guard::arm(Clock::time_point deadline) {
  {
    const std::lock_guard lock(mutex_);
    deadline_ = deadline;
  }
  changed_.notify_all();
}

void Guard::disarm() {
  arm(Clock::time_point::max());
}

void Guard::watch() {
  std::unique_lock lock(mutex_);
  while (!is_over_) {
    if (deadline_ == Clock::time_point::max()) {
      changed_.wait(lock);
      continue;
    }
    if (Clock::now() >= deadline_) break;
    changed_.wait_until(lock, deadline_);
  }
  if (is_over_) return;
  lock.unlock();
  last_word_();
  ::_exit(kExitLate);
}

}  // namespace collwatch::nccl_probe
