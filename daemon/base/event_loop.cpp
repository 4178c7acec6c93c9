// SPDX-License-Identifier: Apache-2.0
//
// epoll plus a timer map. Each watch carries a generation so that an event fetched for a watch that
// was removed (and whose fd number was reused) in the same turn is dropped.
#include "daemon/base/event_loop.h"

#include <sys/epoll.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>

namespace collwatch::base {

using model::Result;

Result<std::unique_ptr<EventLoop>> EventLoop::create() {
  const int fd = epoll_create1(EPOLL_CLOEXEC);
  if (fd < 0) return model::fail(model::from_errno("epoll_create1", errno));
  return std::unique_ptr<EventLoop>(new EventLoop(fd));
}

EventLoop::~EventLoop() { close(epoll_fd_); }

Result<void> EventLoop::watch(int fd, std::uint32_t epoll_events, FdCallback callback) {
  const bool known = watches_.contains(fd);
  const std::uint64_t generation = next_id_++;
  epoll_event event{};
  event.events = epoll_events;
  // fd in the low half, generation in the high half: enough bits for 4 billion watches.
  event.data.u64 = (generation << 32) | static_cast<std::uint32_t>(fd);
  int rc = epoll_ctl(epoll_fd_, known ? EPOLL_CTL_MOD : EPOLL_CTL_ADD, fd, &event);
  // A closed fd leaves epoll by itself; if its number came back, our record is stale, epoll's gone.
  if (rc != 0 && known && errno == ENOENT) rc = epoll_ctl(epoll_fd_, EPOLL_CTL_ADD, fd, &event);
  if (rc != 0) return model::fail(model::from_errno("epoll_ctl", errno));
  watches_[fd] = Watch{generation, std::make_shared<FdCallback>(std::move(callback))};
  return {};
}

void EventLoop::unwatch(int fd) {
  if (watches_.erase(fd) > 0) epoll_ctl(epoll_fd_, EPOLL_CTL_DEL, fd, nullptr);
}

EventLoop::TimerId EventLoop::at(TimePoint when, TimerCallback callback) {
  const TimerId id = next_id_++;
  timers_.emplace(when, std::make_pair(id, std::move(callback)));
  timer_times_.emplace(id, when);
  return id;
}

void EventLoop::cancel(TimerId id) {
  const auto found = timer_times_.find(id);
  if (found == timer_times_.end()) return;
  auto [first, last] = timers_.equal_range(found->second);
  const auto timer = std::find_if(first, last, [id](const auto& t) { return t.second.first == id; });
  if (timer != last) timers_.erase(timer);
  timer_times_.erase(found);
}

void EventLoop::run_due_timers() {
  const TimePoint now = Clock::now();
  // Only what is due now: a timer armed for "now" by a callback waits for the next turn.
  while (!timers_.empty() && timers_.begin()->first <= now) {
    auto node = timers_.extract(timers_.begin());
    timer_times_.erase(node.mapped().first);
    worst_lateness_ = std::max(worst_lateness_, now - node.key());
    node.mapped().second();
  }
}

Result<void> EventLoop::turn(Clock::duration limit) {
  Clock::duration wait = limit;
  if (!timers_.empty()) wait = std::min(wait, timers_.begin()->first - Clock::now());
  // Round up: waking a little early would spin through a turn that has nothing to do.
  const auto wait_ms = std::max<std::int64_t>(0, std::chrono::ceil<Millis>(wait).count());
  std::array<epoll_event, 64> events{};
  const int n = epoll_wait(epoll_fd_, events.data(), events.size(), static_cast<int>(wait_ms));
  if (n < 0 && errno != EINTR) return model::fail(model::from_errno("epoll_wait", errno));
  for (int i = 0; i < n; ++i) {
    const std::uint64_t data = events[i].data.u64;
    const auto found = watches_.find(static_cast<int>(data & 0xffffffffU));
    if (found == watches_.end() || (found->second.generation & 0xffffffffU) != data >> 32) continue;
    const auto callback = found->second.callback;  // keeps it alive if it unwatches itself
    (*callback)(events[i].events);
  }
  run_due_timers();
  return {};
}

Result<void> EventLoop::run() {
  while (!stopped_) {
    if (auto done = turn(std::chrono::hours(1)); !done) return done;
  }
  return {};
}

Clock::duration EventLoop::take_worst_lateness() { return std::exchange(worst_lateness_, {}); }

}  // namespace collwatch::base
