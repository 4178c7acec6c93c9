// SPDX-License-Identifier: Apache-2.0
//
// The other half of NcclLink: what the worker says and how it ends, as results, skips and failures.
#include <algorithm>
#include <utility>

#include "daemon/agent/nccl_link.h"

namespace collwatch::agent {

using model::Fingerprint;
using model::Outcome;
using model::Phase;

namespace {

bool is_before_collectives(Phase phase) {
  return phase == Phase::device_init || phase == Phase::rendezvous || phase == Phase::connect;
}

Fingerprint fingerprint_of(Phase phase, Outcome outcome) {
  if (is_before_collectives(phase)) return Fingerprint::nccl_init_failed;
  return outcome == Outcome::worker_crash ? Fingerprint::nccl_system_error
                                          : Fingerprint::nccl_watchdog_timeout;
}

std::string of_devices(const std::vector<wire::NcclDevice>& devices) {
  std::string all;
  for (const wire::NcclDevice& device : devices) {
    for (const std::string& trouble : device.troubles) {
      all += (all.empty() ? "" : "; ") + device.name + " " + device.bus + ": " + trouble;
    }
  }
  return all;
}

}  // namespace

NcclWorker::Handlers NcclLink::worker_handlers() {
  NcclWorker::Handlers handlers;
  handlers.message = [this](const wire::FromNccl& message) { on_message(message); };
  handlers.late = [this] { on_late(); };
  handlers.gone = [this](const std::string& how) { on_gone(how); };
  handlers.unreaped = [this](int count) { handlers_.unreaped(count); };
  return handlers;
}

void NcclLink::on_message(const wire::FromNccl& message) {
  if (const auto* skipped = std::get_if<wire::NcclSkipped>(&message)) {
    if (state_ != State::preparing) return;
    skip(skipped->reason, skipped->text);
    preflight_done_ = true;
    state_ = State::ending;
  } else if (const auto* prepared = std::get_if<wire::NcclPrepared>(&message)) {
    if (state_ == State::preparing) on_prepared(*prepared);
  } else if (const auto* report = std::get_if<wire::NcclReport>(&message)) {
    on_report(*report);
  } else if (const auto* done = std::get_if<wire::NcclDone>(&message)) {
    on_done(*done);
  }
}

void NcclLink::on_prepared(const wire::NcclPrepared& prepared) {
  facts_ = {};
  facts_.nccl = prepared.nccl;
  facts_.cuda = prepared.cuda;
  facts_.driver = prepared.driver;
  facts_.devices = static_cast<int>(prepared.devices.size());
  facts_.ids = prepared.ids;
  say("library_found", "NCCL " + prepared.nccl + " (" + prepared.library + "), driver for CUDA " +
                           prepared.driver + ", " + std::to_string(facts_.devices) + " GPUs" +
                           (prepared.note.empty() ? "" : "; " + prepared.note));
  const std::string troubles = of_devices(prepared.devices);
  if (!troubles.empty() || said_.contains("gpu_trouble")) {
    say("gpu_trouble", troubles.empty() ? "the GPUs are well again" : troubles);
  }
  if (facts_.devices < 1) return worker_.kill("it found no GPU and did not say so");
  wire::NcclRun local;
  local.rung = wire::Rung::local;
  local.ranks = facts_.devices;
  state_ = State::local;
  run_round_ = round_;
  run(std::move(local));
}

void NcclLink::on_report(const wire::NcclReport& report) {
  const bool awaited =
      state_ == State::preparing || state_ == State::local || state_ == State::climbing;
  if (!awaited) return;
  if (report.phase == Phase::teardown) {
    // Everything was verified by then; that the library cannot let go is worth a line, no more.
    handlers_.note("teardown_stuck", "the NCCL probe's communicator (" +
                                         std::string(model::name(report.rung)) +
                                         ") could not be taken down: " + report.text);
    return finish(state_ == State::climbing);
  }
  count(report);
  if (report.outcome == Outcome::ok) return;
  Failure failure;
  failure.outcome = report.outcome;
  failure.fingerprint = report.fingerprint;
  failure.rung = report.rung;
  failure.text = std::string(model::name(report.phase)) + " of " +
                 std::string(model::name(report.rung)) + ": " + report.text;
  if (report.phase == Phase::collective) {
    failure.text = std::string(model::name(report.collective)) + " of " +
                   std::to_string(report.size_bytes) + " bytes, " + failure.text;
  }
  fail(std::move(failure));
}

/// What failed before any collective could run counts as the first that a job would have tried.
void NcclLink::count(const wire::NcclReport& report) {
  exporters::CollectiveResult result;
  result.backend = "nccl";
  result.collective = report.collective;
  result.size_bytes =
      report.size_bytes != 0 ? report.size_bytes : around_.config.nccl.sizes.front();
  result.outcome = report.outcome;
  result.seconds = static_cast<double>(report.duration_us) / 1e6;
  result.at = std::chrono::system_clock::now();
  handlers_.ran(result);
}

void NcclLink::on_done(const wire::NcclDone& done) {
  if (done.rung != rung_) return;
  if (state_ == State::local) {
    worker_.expect_nothing();
    // A single member has nobody to wait for.
    if (around_.config.membership.members.size() < 2) return finish(true);
    state_ = State::ready;
  } else if (state_ == State::climbing) {
    climb();
  }
}

void NcclLink::on_late() {
  if (state_ == State::ending) return worker_.kill("it did not end");
  const std::string phase = worker_.last_phase();
  Failure failure;
  failure.outcome = Outcome::worker_stuck;
  failure.fingerprint = fingerprint_of(worker_.phase(), failure.outcome);
  failure.rung = rung_;
  failure.text = "the probe fell silent in " + (phase.empty() ? "its start" : phase);
  wire::NcclReport report;
  report.rung = rung_;
  report.outcome = failure.outcome;
  count(report);
  fail(std::move(failure));
  worker_.kill("its deadline is over");
}

void NcclLink::on_gone(const std::string& how) {
  const State before = std::exchange(state_, State::idle);
  call_.reset();
  if (worker_.is_stuck()) {
    handlers_.note("worker_stuck",
                   "the NCCL probe: " + how + "; last phase: " + worker_.last_phase());
    if (failure_) failure_->text += "; " + how;
  }
  const bool expected = before == State::ending || before == State::idle;
  if (expected || around_.config.nccl.mode == "never") return;
  Failure failure;
  failure.outcome = Outcome::worker_crash;
  failure.fingerprint = fingerprint_of(worker_.phase(), failure.outcome);
  failure.rung = rung_;
  failure.text = "the probe " + how;
  if (!worker_.last_phase().empty()) failure.text += "; last phase: " + worker_.last_phase();
  wire::NcclReport report;
  report.rung = rung_;
  report.outcome = failure.outcome;
  count(report);
  fail(std::move(failure));
  state_ = State::idle;
}

void NcclLink::say(const std::string& state, const std::string& text, const std::string& about) {
  std::string& last = said_[state + about];
  if (last != text) handlers_.note(state, text);
  last = text;
}

void NcclLink::skip(model::SkipReason reason, const std::string& text) {
  handlers_.skipped(reason);
  say("probe_skipped", std::string(model::name(reason)) + ": " + text);
  if (state_ == State::preparing || state_ == State::local || state_ == State::ready) {
    state_ = State::ending;
  }
}

void NcclLink::fail(Failure failure) {
  failure.since = failure_ ? failure_->since : std::chrono::system_clock::now();
  ++failed_runs_;
  not_met_ = 0;
  preflight_done_ = preflight_done_ || failed_runs_ >= kBelievedFailures;
  handlers_.note(std::string(model::name(failure.outcome)), "NCCL probe: " + failure.text);
  const bool same = failure_ && failure_->fingerprint == failure.fingerprint;
  if (failed_runs_ == kBelievedFailures || (failed_runs_ > kBelievedFailures && !same)) {
    handlers_.found(failure.fingerprint);
  }
  failure_ = std::move(failure);
  state_ = State::ending;
  call_.reset();
  // It ends by itself after a failure.
  if (worker_.running()) worker_.expect(base::Millis(2000));
}

std::optional<NcclLink::Failure> NcclLink::believed() const {
  return failed_runs_ >= kBelievedFailures ? failure_ : std::nullopt;
}

}  // namespace collwatch::agent
