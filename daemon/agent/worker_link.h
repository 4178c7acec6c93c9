// SPDX-License-Identifier: Apache-2.0
//
// The agent's line to its long-lived Gloo worker: starts it, restarts it, and finds out when it is
// stuck. Rounds are the heartbeat: each Round must be acknowledged by the worker's control thread
// within the ack deadline; a worker that does not is killed and replaced, and `state()` tells peers
// that ask. Lives on the event loop's thread.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "daemon/base/event_loop.h"
#include "daemon/supervise/restart_policy.h"
#include "daemon/supervise/worker.h"

namespace collwatch::agent {

class WorkerLink {
 public:
  struct Handlers {
    std::function<void()> up;  ///< Hello arrived: edges may be prepared
    /// The worker is gone (or on its way out): everything it held is lost. `reason` is
    /// worker_crash or worker_stuck, `why` a sentence.
    std::function<void(model::Reason reason, const std::string& why)> down;
    std::function<void(const wire::FromWorker&)> message;
    std::function<void(int count)> unreaped;  ///< how many are stuck in the kernel now
  };

  WorkerLink(base::EventLoop& loop, std::string executable, std::string node, Handlers handlers);
  ~WorkerLink();

  void start();
  bool send(const wire::ToWorker& message);
  /// Sends the tick and arms the ack deadline, stretched by local health.
  void round(const wire::Round& round, double stretch);
  /// Replaces it when it holds more bytes than that.
  void check_memory(std::uint64_t most);
  /// Asks the worker to end; its end is then no event and nothing is started any more.
  void ask_to_stop();
  /// Forgets it, killing what is left of it: no handler is called after this.
  void stop();

  model::WorkerState state() const { return state_; }
  bool running() const { return state_ == model::WorkerState::running; }
  const std::string& build() const { return build_; }
  /// What was wrong with the last worker, while that is less than 10 s ago.
  std::optional<model::Reason> recent_trouble() const;
  std::chrono::microseconds take_worst_lateness();
  /// Why it does not run, a sentence; empty while it does.
  std::string why_not_running() const { return running() ? "" : why_lost_; }
  /// Not empty: the executable cannot be started, and why.
  const std::string& unavailable() const { return unavailable_; }

 private:
  void spawn();
  void on_message(const wire::FromWorker& message);
  void on_ended(const supervise::ExitFact& fact);
  void lose(model::Reason reason, const std::string& what);
  void arm_ack_deadline(base::Millis delay);

  base::EventLoop& loop_;
  std::string executable_;
  std::string node_;
  Handlers handlers_;
  std::unique_ptr<supervise::Worker> worker_;
  std::vector<supervise::Life> lives_;
  model::WorkerState state_ = model::WorkerState::absent;
  std::string build_;
  std::string unavailable_;
  std::string last_words_;
  std::string last_phase_;  ///< "connect of edge:n1"; a worker says it before it enters it
  std::string why_lost_ = "it is being started";
  std::optional<model::Reason> trouble_;
  base::TimePoint trouble_at_{};
  base::TimePoint started_at_{};
  std::int64_t awaited_round_ = 0;
  base::EventLoop::TimerId ack_timer_ = 0;
  base::EventLoop::TimerId restart_timer_ = 0;
  base::TimePoint ack_due_{};
  std::chrono::microseconds worst_lateness_{};
  int unreaped_ = 0;
  bool lost_ = true;  ///< `down` was already told for this worker
  bool stopping_ = false;
};

}  // namespace collwatch::agent
