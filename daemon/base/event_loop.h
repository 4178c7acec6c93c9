// SPDX-License-Identifier: Apache-2.0
//
// The daemon's one thread that thinks: epoll over file descriptors and a heap of timers on the
// steady clock. Everything that touches the world registers here; callbacks run on the loop's
// thread and must not block. Measures how late it wakes, which feeds local health.
//
// A watch or timer may be removed from inside any callback, its own included; a removed one is
// never called again, even if its event was already fetched.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <unordered_map>

#include "probes/model/result.h"

namespace collwatch::base {

using Clock = std::chrono::steady_clock;
using TimePoint = Clock::time_point;
using Millis = std::chrono::milliseconds;

class EventLoop {
 public:
  using FdCallback = std::function<void(std::uint32_t epoll_events)>;
  using TimerCallback = std::function<void()>;
  using TimerId = std::uint64_t;

  static model::Result<std::unique_ptr<EventLoop>> create();
  ~EventLoop();
  EventLoop(const EventLoop&) = delete;
  EventLoop& operator=(const EventLoop&) = delete;

  /// Watches `fd` (not owned) for `epoll_events` until unwatch(fd). Watching twice replaces.
  model::Result<void> watch(int fd, std::uint32_t epoll_events, FdCallback callback);
  void unwatch(int fd);

  /// Calls once at `when`. Returns an id that cancel() takes; ids are never reused.
  TimerId at(TimePoint when, TimerCallback callback);
  TimerId after(Clock::duration delay, TimerCallback callback) {
    return at(Clock::now() + delay, std::move(callback));
  }
  void cancel(TimerId id);

  /// Runs until stop(). Returns an Error only when epoll itself fails.
  model::Result<void> run();
  /// One turn: waits at most `limit`, handles what is due. For tests.
  model::Result<void> turn(Clock::duration limit);
  void stop() { stopped_ = true; }

  /// The worst lateness of a timer since the last call; zero if none was due.
  Clock::duration take_worst_lateness();

 private:
  explicit EventLoop(int epoll_fd) : epoll_fd_(epoll_fd) {}
  void run_due_timers();

  struct Watch {
    std::uint64_t generation = 0;
    std::shared_ptr<FdCallback> callback;
  };
  int epoll_fd_ = -1;
  bool stopped_ = false;
  std::uint64_t next_id_ = 1;
  std::unordered_map<int, Watch> watches_;
  std::multimap<TimePoint, std::pair<TimerId, TimerCallback>> timers_;
  std::unordered_map<TimerId, TimePoint> timer_times_;
  Clock::duration worst_lateness_{};
};

}  // namespace collwatch::base
