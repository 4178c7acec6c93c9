// SPDX-License-Identifier: Apache-2.0
//
// The agent's line to one collwatch-probe-nccl: starts it, gives each of its steps a deadline,
// knows what it was about to do when it went silent, and lets go of one that not even SIGKILL ends
// (stuck in the GPU's driver). Lives on the event loop's thread.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <string>

#include "daemon/base/event_loop.h"
#include "daemon/supervise/worker.h"
#include "probes/wire/nccl_message.h"

namespace collwatch::agent {

class NcclWorker {
 public:
  struct Handlers {
    std::function<void(const wire::FromNccl&)> message;
    /// The deadline of its present step is over; kill() is for the handler to call.
    std::function<void()> late;
    /// It has ended, or cannot be ended; a new one may be started unless it is_stuck().
    std::function<void(const std::string& how)> gone;
    std::function<void(int count)> unreaped;
  };

  NcclWorker(base::EventLoop& loop, std::string executable, Handlers handlers);
  ~NcclWorker();

  /// An Error names the executable that is not there.
  model::Result<void> start();
  bool send(const wire::ToNccl& message);
  /// The next word that ends a step must come within that time.
  void expect(base::Millis within);
  void expect_nothing();
  void kill(const std::string& why);
  /// Ends it, waiting a moment at most; no handler is called after this.
  void stop();

  bool running() const { return worker_ != nullptr; }
  /// A former one is still there, in the kernel: no other may be started.
  bool is_stuck() const { return stuck_ != nullptr; }
  /// "connect of rail": what it said that it was about to do.
  const std::string& last_phase() const { return last_phase_; }
  model::Phase phase() const { return phase_; }
  /// Is that one of the last few processes started here?
  bool was(std::int64_t pid) const;

 private:
  void on_packet(const std::string& packet);
  void on_ended(const supervise::ExitFact& fact);
  void on_stuck();

  static constexpr std::size_t kRememberedPids = 16;

  base::EventLoop& loop_;
  const std::string executable_;
  Handlers handlers_;
  std::unique_ptr<supervise::Worker> worker_;
  std::unique_ptr<supervise::Worker> stuck_;
  std::deque<std::int64_t> pids_;
  std::string last_phase_;
  std::string last_words_;
  model::Phase phase_ = model::Phase::device_init;
  base::EventLoop::TimerId deadline_ = 0;
};

}  // namespace collwatch::agent
