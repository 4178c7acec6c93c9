// SPDX-License-Identifier: Apache-2.0
//
// Start, heartbeat, loss and restart of the Gloo worker.
#include "daemon/agent/worker_link.h"

#include <algorithm>
#include <utility>

#include "daemon/agent/memory.h"
#include "daemon/supervise/sanitizer.h"

namespace collwatch::agent {

using base::Clock;
using base::Millis;

namespace {

/// A round's acknowledgement comes from a thread that does nothing else, within a millisecond on a
/// healthy host. Short enough that a stopped worker is replaced before the next round.
constexpr Millis kAckDeadline{350};
constexpr Millis kHelloDeadline{3000};
constexpr std::chrono::seconds kTroubleIsRecent{10};

}  // namespace

WorkerLink::WorkerLink(base::EventLoop& loop, std::string executable, std::string node,
                       Handlers handlers)
    : loop_(loop),
      executable_(std::move(executable)),
      node_(std::move(node)),
      handlers_(std::move(handlers)) {}

WorkerLink::~WorkerLink() {
  stop();
}

void WorkerLink::start() {
  spawn();
}

void WorkerLink::spawn() {
  supervise::WorkerOptions options;
  options.executable = executable_;
  options.grace = Millis(100);
  supervise::Worker::Handlers handlers;
  handlers.message = [this](const wire::FromWorker& message) { on_message(message); };
  handlers.protocol_error = [this](const std::string& text) {
    lose(model::Reason::worker_crash, "the Gloo worker said something that is no message: " + text);
    if (worker_) worker_->kill("protocol error");
  };
  handlers.ended = [this](const supervise::ExitFact& fact) { on_ended(fact); };
  handlers.unreaped = [this] {
    ++unreaped_;
    handlers_.unreaped(unreaped_);
  };
  state_ = model::WorkerState::starting;
  lost_ = false;
  last_words_.clear();
  last_phase_.clear();
  started_at_ = Clock::now();
  auto spawned = supervise::Worker::spawn(loop_, options, std::move(handlers));
  if (!spawned) {
    unavailable_ = spawned.error().text;
    lose(model::Reason::worker_crash, unavailable_);
    state_ = model::WorkerState::absent;
    restart_timer_ = loop_.after(std::chrono::seconds(5), [this] { spawn(); });
    return;
  }
  unavailable_.clear();
  worker_ = std::move(*spawned);
  worker_->send(wire::Start{wire::kProtocolVersion, node_});
  awaited_round_ = -1;
  ack_due_ = Clock::now() + kHelloDeadline;
  arm_ack_deadline(kHelloDeadline);
}

bool WorkerLink::send(const wire::ToWorker& message) {
  return worker_ && running() && worker_->send(message);
}

void WorkerLink::round(const wire::Round& round, double stretch) {
  if (!running()) return;
  if (!worker_->send(round)) {
    lose(model::Reason::worker_stuck, "the Gloo worker no longer reads its messages");
    worker_->kill("its channel is full");
    return;
  }
  // Still waiting for an earlier acknowledgement: its deadline stands.
  if (awaited_round_ != 0) return;
  awaited_round_ = round.number;
  const auto deadline =
      Millis(static_cast<std::int64_t>(static_cast<double>(kAckDeadline.count()) * stretch));
  ack_due_ = Clock::now() + deadline;
  arm_ack_deadline(deadline);
}

void WorkerLink::arm_ack_deadline(Millis delay) {
  loop_.cancel(ack_timer_);
  ack_timer_ = loop_.after(delay, [this] {
    // If this timer itself ran late, the whole process was frozen (SIGSTOP, suspend) and the worker
    // with it: give it one more deadline before judging.
    if (Clock::now() - ack_due_ > Millis(100)) {
      ack_due_ = Clock::now() + kAckDeadline;
      arm_ack_deadline(kAckDeadline);
      return;
    }
    lose(model::Reason::worker_stuck, state_ == model::WorkerState::starting
                                          ? "the Gloo worker did not say hello in time"
                                          : "the Gloo worker stopped answering");
    if (worker_) worker_->kill("no answer");
  });
}

void WorkerLink::on_message(const wire::FromWorker& message) {
  if (const auto* hello = std::get_if<wire::Hello>(&message)) {
    loop_.cancel(ack_timer_);
    awaited_round_ = 0;
    if (hello->v != wire::kProtocolVersion) {
      lose(model::Reason::worker_crash, "the Gloo worker speaks protocol version " +
                                            std::to_string(hello->v) + ", this daemon " +
                                            std::to_string(wire::kProtocolVersion));
      worker_->kill("wrong protocol version");
      return;
    }
    build_ = hello->build;
    state_ = model::WorkerState::running;
    handlers_.up();
    return;
  }
  if (const auto* ack = std::get_if<wire::RoundAck>(&message)) {
    worst_lateness_ = std::max(worst_lateness_, std::chrono::microseconds(ack->late_us));
    if (ack->number >= awaited_round_ && awaited_round_ > 0) {
      awaited_round_ = 0;
      loop_.cancel(ack_timer_);
    }
    return;
  }
  if (const auto* entered = std::get_if<wire::PhaseEntered>(&message)) {
    last_phase_ = std::string(model::name(entered->phase)) + " of " + entered->scope;
    return;
  }
  if (const auto* error = std::get_if<wire::WorkerError>(&message)) {
    last_words_ = error->text;
    return;
  }
  if (running()) handlers_.message(message);
}

void WorkerLink::on_ended(const supervise::ExitFact& fact) {
  loop_.cancel(ack_timer_);
  if (worker_->phase() == supervise::WorkerPhase::unreaped) unreaped_ = std::max(0, unreaped_ - 1);
  std::string why = "the Gloo worker " + supervise::describe(fact);
  if (!last_words_.empty()) why += ": " + last_words_;
  worker_.reset();
  lose(model::Reason::worker_crash, why);
  if (stopping_) return;
  state_ = model::WorkerState::starting;
  const base::TimePoint now = Clock::now();
  supervise::remember(lives_, {started_at_, now});
  restart_timer_ = loop_.at(supervise::next_start(lives_, now), [this] { spawn(); });
}

void WorkerLink::check_memory(std::uint64_t most) {
  if (!worker_ || !running() || supervise::kUnderSanitizer) return;
  const std::uint64_t held = resident_bytes(worker_->pid());
  if (held <= most) return;
  lose(model::Reason::worker_crash, "the Gloo worker held " + std::to_string(held >> 20) +
                                        " MiB, more memory than its share (limits.memory)");
  worker_->kill("more memory than its share");
}

void WorkerLink::lose(model::Reason reason, const std::string& what) {
  if (std::exchange(lost_, true)) return;
  // With several edges the last phase need not be the guilty one, but it is where to look first.
  const std::string why = last_phase_.empty() ? what : what + "; last phase: " + last_phase_;
  loop_.cancel(ack_timer_);
  trouble_ = reason;
  why_lost_ = why;
  trouble_at_ = Clock::now();
  state_ = reason == model::Reason::worker_stuck ? model::WorkerState::stuck
                                                 : model::WorkerState::starting;
  if (!stopping_) handlers_.down(reason, why);
}

std::optional<model::Reason> WorkerLink::recent_trouble() const {
  if (!trouble_ || Clock::now() - trouble_at_ > kTroubleIsRecent) return std::nullopt;
  return trouble_;
}

std::chrono::microseconds WorkerLink::take_worst_lateness() {
  return std::exchange(worst_lateness_, std::chrono::microseconds(0));
}

void WorkerLink::ask_to_stop() {
  stopping_ = true;
  loop_.cancel(ack_timer_);
  loop_.cancel(restart_timer_);
  if (worker_) worker_->send(wire::Stop{});
}

void WorkerLink::stop() {
  ask_to_stop();
  worker_.reset();
  state_ = model::WorkerState::absent;
}

}  // namespace collwatch::agent
