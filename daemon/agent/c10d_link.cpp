// SPDX-License-Identifier: Apache-2.0
//
// waiting -> running -> done, back to waiting when rounds suffer, skipped when that is all.
#include "daemon/agent/c10d_link.h"

#include <unistd.h>

#include <algorithm>
#include <utility>
#include <variant>
#include <vector>

namespace collwatch::agent {
namespace {

using exporters::C10d;
using wire::C10dEnd;

/// What it may tell is bounded, whatever it says.
constexpr std::size_t kMostFindings = 64;
constexpr std::size_t kMostCalls = 256;
constexpr std::size_t kMostStores = 8;
/// Of the dynamic loader: a library of the program is not there.
constexpr int kLoaderFailed = 127;

std::string call_of(const wire::C10dCell& cell) {
  std::string call = cell.op;
  for (const std::string& word : {cell.dtype, cell.reduce_op}) {
    if (!word.empty()) call += " " + word;
  }
  return call + " on " + cell.device;
}

/// Calls that ended with the same words stand together.
void add(std::vector<exporters::C10dFinding>& findings, const std::string& text,
         const std::string& call) {
  auto found = std::find_if(findings.begin(), findings.end(),
                            [&text](const auto& finding) { return finding.text == text; });
  if (found == findings.end()) {
    if (findings.size() == kMostFindings) return;
    found = findings.insert(findings.end(), {text, {}});
  }
  if (found->calls.size() < kMostCalls) found->calls.push_back(call);
}

}  // namespace

C10dLink::C10dLink(base::EventLoop& loop, Options options, Handlers handlers)
    : loop_(loop), options_(std::move(options)), handlers_(std::move(handlers)) {
  shown_.state = "never";
}

C10dLink::~C10dLink() {
  stop();
}

void C10dLink::start() {
  if (::access(options_.executable.c_str(), X_OK) != 0) {
    skip(model::SkipReason::not_installed, "collwatch-probe-c10d is not installed");
    return;
  }
  shown_.state = "waiting";
  timer_ = loop_.after(options_.check_every, [this] { check(); });
}

void C10dLink::stop() {
  loop_.cancel(timer_);
  timer_ = 0;
  worker_.reset();
}

void C10dLink::check() {
  const bool is_calm = handlers_.is_calm();
  calm_ = is_calm ? calm_ + 1 : 0;
  if (worker_) {
    ++running_;
    if (!is_calm) worker_->kill("rounds suffer");
    if (running_ > options_.most_checks) worker_->kill("its time is up");
  } else if (calm_ >= options_.calm_checks) {
    spawn();
  }
  if (shown_.state == "waiting" || shown_.state == "running") {
    timer_ = loop_.after(options_.check_every, [this] { check(); });
  }
}

void C10dLink::spawn() {
  supervise::WorkerOptions options;
  options.executable = options_.executable;
  supervise::Worker::Handlers handlers;
  handlers.packet = [this](const std::string& packet) { on_packet(packet); };
  handlers.protocol_error = [this](const std::string& text) {
    if (worker_) worker_->kill("protocol error: " + text);
  };
  handlers.ended = [this](const supervise::ExitFact& fact) { on_ended(fact); };
  shown_ = C10d{};
  shown_.state = "running";
  is_told_all_ = false;
  running_ = 0;
  ++starts_;
  auto spawned = supervise::Worker::spawn(loop_, options, std::move(handlers));
  if (!spawned) {
    skip(model::SkipReason::not_installed, spawned.error().text);
    return;
  }
  worker_ = std::move(*spawned);
}

void C10dLink::on_packet(const std::string& packet) {
  const auto message = wire::decode_from_c10d(packet);
  if (!message) {
    if (worker_) worker_->kill("protocol error: " + message.error().text);
    return;
  }
  if (const auto* versions = std::get_if<wire::C10dVersions>(&*message)) {
    shown_.torch = versions->torch;
  } else if (const auto* cell = std::get_if<wire::C10dCell>(&*message)) {
    on_cell(*cell);
  } else if (const auto* store = std::get_if<wire::C10dStore>(&*message)) {
    if (store->end == C10dEnd::ok || shown_.stores.size() == kMostStores) return;
    shown_.stores.push_back(
        {store->store + ": " + std::string(model::name(store->end)) + " " + store->text});
  } else {
    is_told_all_ = true;
  }
}

void C10dLink::on_cell(const wire::C10dCell& cell) {
  // A tensor without values is a matter of the library's own tests.
  if (cell.op.empty() || cell.device == "meta") return;
  switch (cell.end) {
    case C10dEnd::wrong_values:
      add(shown_.wrong_values, cell.text, call_of(cell));
      break;
    case C10dEnd::refused:
      add(shown_.unsupported, cell.text, call_of(cell));
      break;
    case C10dEnd::crash:
    case C10dEnd::hang:
      add(shown_.crashes, cell.text, call_of(cell));
      break;
    default:
      break;
  }
}

void C10dLink::on_ended(const supervise::ExitFact& fact) {
  const std::string why = worker_->kill_reason();
  const std::string last_words = worker_->output_tail();
  worker_.reset();
  calm_ = 0;
  if (is_told_all_) {
    loop_.cancel(timer_);
    timer_ = 0;
    shown_.state = "done";
    handlers_.done(shown_);
    return;
  }
  const auto* exited = std::get_if<supervise::Exited>(&fact);
  if (exited != nullptr && exited->code == kLoaderFailed) {
    skip(model::SkipReason::not_installed, last_words);
  } else if (why == "rounds suffer" && starts_ < options_.most_starts) {
    shown_ = C10d{};
    shown_.state = "waiting";
    shown_.text = "put off: rounds suffered";
  } else {
    skip(model::SkipReason::unavailable, why.empty() ? supervise::describe(fact) : why);
  }
}

void C10dLink::skip(model::SkipReason reason, const std::string& why) {
  loop_.cancel(timer_);
  timer_ = 0;
  shown_ = C10d{};
  shown_.state = "skipped";
  shown_.text = why;
  handlers_.skipped(reason, why);
}

}  // namespace collwatch::agent
