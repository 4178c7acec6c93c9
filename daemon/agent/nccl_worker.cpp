// SPDX-License-Identifier: Apache-2.0
//
// One process at a time.
#include "daemon/agent/nccl_worker.h"

#include <algorithm>
#include <cctype>
#include <utility>

namespace collwatch::agent {

NcclWorker::NcclWorker(base::EventLoop& loop, std::string executable, Handlers handlers)
    : loop_(loop), executable_(std::move(executable)), handlers_(std::move(handlers)) {}

NcclWorker::~NcclWorker() {
  stop();
}

model::Result<void> NcclWorker::start() {
  COLLWATCH_ASSERT(!worker_ && !stuck_);
  supervise::WorkerOptions options;
  options.executable = executable_;
  supervise::Worker::Handlers handlers;
  handlers.packet = [this](const std::string& packet) { on_packet(packet); };
  handlers.protocol_error = [this](const std::string& text) {
    last_words_ = "it said something that is no message: " + text;
    kill("protocol error");
  };
  handlers.ended = [this](const supervise::ExitFact& fact) { on_ended(fact); };
  handlers.unreaped = [this] { on_stuck(); };
  last_phase_.clear();
  last_words_.clear();
  phase_ = model::Phase::device_init;
  auto spawned = supervise::Worker::spawn(loop_, options, std::move(handlers));
  if (!spawned) return model::fail(spawned.error());
  worker_ = std::move(*spawned);
  pids_.push_back(worker_->pid());
  if (pids_.size() > kRememberedPids) pids_.pop_front();
  return {};
}

bool NcclWorker::send(const wire::ToNccl& message) {
  return worker_ && worker_->send_packet(wire::encode(message));
}

void NcclWorker::expect(base::Millis within) {
  loop_.cancel(deadline_);
  deadline_ = loop_.after(within, [this] { handlers_.late(); });
}

void NcclWorker::expect_nothing() {
  loop_.cancel(deadline_);
}

void NcclWorker::kill(const std::string& why) {
  loop_.cancel(deadline_);
  if (worker_) worker_->kill(why);
}

void NcclWorker::on_packet(const std::string& packet) {
  const auto message = wire::decode_from_nccl(packet);
  if (!message) {
    last_words_ = "it said something that is no message: " + message.error().text;
    kill("protocol error");
    return;
  }
  if (const auto* entered = std::get_if<wire::NcclPhase>(&*message)) {
    phase_ = entered->phase;
    last_phase_ = std::string(model::name(entered->phase)) + " of " + entered->scope;
    return;
  }
  if (const auto* error = std::get_if<wire::NcclError>(&*message)) last_words_ = error->text;
  handlers_.message(*message);
}

void NcclWorker::on_ended(const supervise::ExitFact& fact) {
  if (stuck_ && stuck_->phase() == supervise::WorkerPhase::ended) {
    stuck_.reset();
    handlers_.unreaped(0);
    return;
  }
  loop_.cancel(deadline_);
  std::string how = supervise::describe(fact);
  if (!last_words_.empty()) how += ": " + last_words_;
  // A library that aborts says why on its way out.
  std::string tail = worker_->output_tail();
  while (!tail.empty() && std::isspace(static_cast<unsigned char>(tail.back())) != 0) {
    tail.pop_back();
  }
  if (!tail.empty()) how += "; it printed: " + tail.substr(tail.rfind('\n') + 1);
  worker_.reset();
  handlers_.gone(how);
}

void NcclWorker::on_stuck() {
  stuck_ = std::move(worker_);
  handlers_.unreaped(1);
  handlers_.gone("not even SIGKILL ends it: it waits in the kernel, most likely for the GPU");
}

void NcclWorker::stop() {
  loop_.cancel(deadline_);
  worker_.reset();
  stuck_.reset();
}

bool NcclWorker::was(std::int64_t pid) const {
  return std::find(pids_.begin(), pids_.end(), pid) != pids_.end();
}

}  // namespace collwatch::agent
