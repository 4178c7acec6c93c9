// SPDX-License-Identifier: Apache-2.0
//
// A real collwatch-probe-gloo as a child, with the test in the daemon's place. Every wait is for a
// condition and ends at a deadline far beyond what a busy host needs; a wait that ends there fails
// the test with everything that the worker said.
#pragma once

#include <sys/types.h>

#include <chrono>
#include <deque>
#include <functional>
#include <optional>
#include <string>

#include "probes/wire/channel.h"
#include "probes/wire/message.h"

namespace collwatch::test {

namespace wire = collwatch::wire;

class WorkerProcess {
 public:
  /// Spawned and, unless `start` is false, greeted: Start sent, Hello received.
  explicit WorkerProcess(std::string name, bool start = true,
                         const std::string& program = "collwatch-probe-gloo");
  ~WorkerProcess();
  WorkerProcess(const WorkerProcess&) = delete;
  WorkerProcess& operator=(const WorkerProcess&) = delete;

  const std::string& name() const { return name_; }
  pid_t pid() const { return pid_; }
  wire::Channel& channel() { return channel_; }

  void send(const wire::ToWorker& message);

  /// The next message of type T that `wanted` accepts; those before it stay for later awaits.
  template <typename T>
  T await(const std::function<bool(const T&)>& wanted = [](const T&) { return true; });
  /// As await, over what has arrived so far; nothing is removed.
  template <typename T>
  std::optional<T> peek(const std::function<bool(const T&)>& wanted);
  /// All that the worker has to say by now has arrived when this returns: a round trip through its
  /// control thread.
  void settle();

  void signal(int number);
  /// SIGSTOP, and every thread of it has stopped.
  void freeze();
  /// Waits for the end: the exit code, or minus the signal.
  int await_exit();

 private:
  /// One more message into heard_; false at the end of the channel or at the deadline.
  bool hear(std::chrono::steady_clock::time_point deadline);
  [[noreturn]] void give_up(const std::string& waiting_for);

  const std::string name_;
  wire::Channel channel_{-1};
  pid_t pid_ = -1;
  std::optional<int> exit_;
  std::deque<wire::FromWorker> heard_;
  std::int64_t settle_round_ = 1'000'000;
};

inline constexpr std::chrono::seconds kPatience{20};

template <typename T>
T WorkerProcess::await(const std::function<bool(const T&)>& wanted) {
  const auto deadline = std::chrono::steady_clock::now() + kPatience;
  for (std::size_t at = 0;;) {
    for (; at < heard_.size(); ++at) {
      const auto* message = std::get_if<T>(&heard_[at]);
      if (message == nullptr || !wanted(*message)) continue;
      T found = *message;
      heard_.erase(heard_.begin() + static_cast<std::ptrdiff_t>(at));
      return found;
    }
    if (!hear(deadline)) give_up(wire::encode(wire::FromWorker{T{}}));
  }
}

template <typename T>
std::optional<T> WorkerProcess::peek(const std::function<bool(const T&)>& wanted) {
  for (const auto& message : heard_) {
    const auto* found = std::get_if<T>(&message);
    if (found != nullptr && wanted(*found)) return *found;
  }
  return std::nullopt;
}

// --- what the tests of edges and groups both say ----------------------------------------------

/// The reports of one edge, by attempt.
std::function<bool(const wire::EdgeReport&)> of_edge(const std::string& peer,
                                                     std::uint64_t attempt);

/// The daemon's part in one attempt at the edge a-b, up to both published records.
struct Meeting {
  wire::Blob blob_a;
  wire::Blob blob_b;
};
Meeting prepare_edge(WorkerProcess& a, WorkerProcess& b, std::uint64_t attempt, int timeout_ms,
                     int interval_ms = 60000);
void connect_edge(WorkerProcess& a, WorkerProcess& b, std::uint64_t attempt,
                  const Meeting& meeting);
/// Both, and both ends reported it open.
void open_edge(WorkerProcess& a, WorkerProcess& b, std::uint64_t attempt, int timeout_ms = 5000,
               int interval_ms = 60000);

}  // namespace collwatch::test
