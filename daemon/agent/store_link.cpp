// SPDX-License-Identifier: Apache-2.0
//
// waiting -> looking -> waiting; a look that cannot be ended (its process hangs in the kernel)
// keeps the next from starting, so that there is never more than one of them.
#include "daemon/agent/store_link.h"

#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <utility>
#include <variant>

namespace collwatch::agent {
namespace {

std::string joined(const std::vector<std::string>& names) {
  std::string out;
  for (const std::string& name : names) out += (out.empty() ? "" : ",") + name;
  return out;
}

}  // namespace

StoreLink::StoreLink(base::EventLoop& loop, Options options, Handlers handlers)
    : loop_(loop),
      options_(std::move(options)),
      handlers_(std::move(handlers)),
      sharing_(options_.self) {}

StoreLink::~StoreLink() {
  loop_.cancel(timer_);
  loop_.cancel(deadline_);
}

void StoreLink::start() {
  if (::access(options_.executable.c_str(), X_OK) != 0) {
    return handlers_.skipped(model::SkipReason::not_installed);
  }
  timer_ =
      loop_.after(std::min(options_.first_interval, options_.interval) / 4, [this] { look(); });
}

void StoreLink::schedule() {
  const base::Millis next =
      is_early() ? std::min(options_.first_interval, options_.interval) : options_.interval;
  timer_ = loop_.after(next, [this] { look(); });
}

/// The next ones in the ring, so that everybody's file is read by as many.
std::vector<std::string> StoreLink::whom_to_read() const {
  std::vector<std::string> members = handlers_.members();
  const auto next = std::upper_bound(members.begin(), members.end(), options_.self);
  std::rotate(members.begin(), next, members.end());
  if (members.size() > kMostRead) members.resize(kMostRead);
  return members;
}

void StoreLink::look() {
  ++looks_;
  folder_.reset();
  files_.clear();
  done_.reset();
  supervise::WorkerOptions options;
  options.executable = options_.executable;
  options.arguments = {options_.folder, options_.self, joined(whom_to_read())};
  supervise::Worker::Handlers handlers;
  handlers.packet = [this](const std::string& packet) { on_packet(packet); };
  handlers.protocol_error = [this](const std::string& text) {
    if (worker_) worker_->kill("protocol error: " + text);
  };
  handlers.ended = [this](const supervise::ExitFact& fact) { on_ended(fact); };
  handlers.unreaped = [this] {
    is_unreaped_ = true;
    handlers_.unreaped(1);
    sharing_.add_hung();
    handlers_.looked(model::Outcome::worker_stuck, 0);
  };
  began_ = base::Clock::now();
  auto spawned = supervise::Worker::spawn(loop_, options, std::move(handlers));
  if (!spawned) {
    handlers_.skipped(model::SkipReason::unavailable);
    return schedule();
  }
  worker_ = std::move(*spawned);
  deadline_ = loop_.after(options_.deadline, [this] {
    deadline_ = 0;
    if (worker_) worker_->kill("its time is up");
  });
}

void StoreLink::on_packet(const std::string& packet) {
  auto message = wire::decode_from_store(packet);
  if (!message) {
    if (worker_) worker_->kill("protocol error: " + message.error().text);
    return;
  }
  if (auto* const folder = std::get_if<wire::StoreFolder>(&*message)) {
    folder_ = std::move(*folder);
  } else if (auto* const file = std::get_if<wire::StoreMember>(&*message)) {
    if (files_.size() < kMostRead) files_.push_back(std::move(*file));
  } else {
    done_ = std::get<wire::StoreDone>(*message);
  }
}

void StoreLink::on_ended(const supervise::ExitFact&) {
  loop_.cancel(deadline_);
  deadline_ = 0;
  if (std::exchange(is_unreaped_, false)) handlers_.unreaped(0);
  const bool was_killed = !worker_->kill_reason().empty();
  const auto taken = std::chrono::duration<double>(base::Clock::now() - began_).count();
  worker_.reset();
  if (folder_ && done_) {
    const auto whom = whom_to_read();
    std::set<std::string> alive;
    for (const std::string& name : handlers_.alive()) {
      if (std::find(whom.begin(), whom.end(), name) != whom.end()) alive.insert(name);
    }
    sharing_.add(*folder_, files_, alive, is_early());
    const bool is_ok = folder_->error.empty() && sharing_.odd().empty();
    const auto outcome = is_ok                    ? model::Outcome::ok
                         : folder_->error.empty() ? model::Outcome::mismatch
                                                  : model::Outcome::error;
    handlers_.looked(outcome, static_cast<double>(done_->duration_us) / 1e6);
  } else {
    sharing_.add_hung();
    handlers_.looked(was_killed ? model::Outcome::timeout : model::Outcome::worker_crash, taken);
  }
  schedule();
}

}  // namespace collwatch::agent
