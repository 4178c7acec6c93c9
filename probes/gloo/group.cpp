// SPDX-License-Identifier: Apache-2.0
//
// The life of one group attempt, in the order in which it happens.
#include "probes/gloo/group.h"

#include <pthread.h>

#include <algorithm>
#include <string>

#include "probes/gloo/collectives.h"
#include "probes/gloo/dial.h"
#include "probes/gloo/outcome.h"
#include "probes/gloo/record.h"

namespace collwatch::gloo_probe {
namespace {

using Clock = std::chrono::steady_clock;
using std::chrono::milliseconds;

constexpr const char* kScope = "group";

std::int64_t microseconds_since(Clock::time_point start) {
  return std::chrono::duration_cast<std::chrono::microseconds>(Clock::now() - start).count();
}

}  // namespace

Group::Group(const Surroundings& around, wire::GroupPrepare prepare)
    : around_(around), prepare_(std::move(prepare)) {
  MeetingStore::Options options;
  options.rank = prepare_.rank;
  options.size = prepare_.size;
  options.deadline = Clock::now() + timeout() + kMeetingGrace;
  options.publish = [this](const wire::Blob& record) {
    around_.reporter.send(
        wire::GroupPrepared{prepare_.attempt, wrap_record(record, around_.build)});
  };
  options.before_connect = [this](const wire::Blob& own, const wire::Blob& theirs) {
    before_connect(own, theirs);
  };
  store_ = std::make_shared<MeetingStore>(std::move(options));
  current_.attempt = prepare_.attempt;
  thread_ = std::thread([this] {
    pthread_setname_np(pthread_self(), kScope);
    live();
    over_ = true;
  });
}

Group::~Group() {
  cancel();
  thread_.join();
}

// --- the control thread -----------------------------------------------------------------------

void Group::connect(const wire::GroupConnect& connect) {
  if (connect.blobs.size() != static_cast<std::size_t>(prepare_.size)) {
    return store_->refuse({model::Outcome::misuse, wire::Half::none,
                           "the meeting's result is not for a group of this size"});
  }
  std::vector<wire::Blob> records;
  for (std::size_t rank = 0; rank < connect.blobs.size(); ++rank) {
    if (static_cast<int>(rank) == prepare_.rank) {
      records.emplace_back();
      continue;
    }
    auto record = unwrap_record(connect.blobs[rank], around_.build, prepare_.size);
    if (!record) {
      Failure failure = record.error();
      failure.text = "rank " + std::to_string(rank) + ": " + failure.text;
      return store_->refuse(std::move(failure));
    }
    records.push_back(std::move(*record));
  }
  store_->deliver(std::move(records));
}

void Group::run(wire::GroupRun run) {
  const std::lock_guard lock(mutex_);
  run_ = std::move(run);
  changed_.notify_all();
}

void Group::cancel() {
  cancelled_ = true;
  store_->interrupt();
  const std::lock_guard lock(mutex_);
  changed_.notify_all();
}

void Group::tick(Clock::time_point now) {
  if (!watch_.give_up(now)) return;
  cancelled_ = true;
  wire::CollectiveReport late;
  late.attempt = prepare_.attempt;
  late.phase = model::Phase::connect;
  late.outcome = model::Outcome::timeout;
  late.text = "no connection within " + std::to_string(prepare_.timeout_ms) + " ms";
  around_.reporter.send(late);
}

// --- the group's thread -----------------------------------------------------------------------

void Group::live() {
  try {
    open();
    for (;;) {
      run_all(await_run());
    }
  } catch (const Interrupted&) {
    context_.reset();
  } catch (const ProbeError& error) {
    report_failure(error.failure());
  } catch (const std::exception& error) {
    report_failure(classify(error.what(), phase_));
  }
}

void Group::open() {
  const auto began = Clock::now();
  enter(model::Phase::device_init);
  const auto device = around_.devices.for_address(prepare_.local_address);
  enter(model::Phase::rendezvous);
  connect_context(device);
  enter(model::Phase::warmup);
  warm_up_barrier(context_, timeout());

  current_.phase = model::Phase::connect;
  current_.duration_us = microseconds_since(began);
  if (!cancelled_) around_.reporter.send(current_);
}

void Group::connect_context(const std::shared_ptr<GlooDevice>& device) {
  context_ = std::make_shared<GlooContext>(prepare_.rank, prepare_.size);
  context_->setTimeout(context_timeout(timeout()));
  try {
    connect_full_mesh(*context_, store_, device);
  } catch (const std::exception&) {
    if (phase_ == model::Phase::connect) around_.devices.connect_failed(prepare_.local_address);
    if (!watch_.end()) throw Interrupted();
    throw;
  }
  if (!watch_.end()) throw Interrupted();
}

void Group::before_connect(const wire::Blob& own, const wire::Blob& theirs) {
  if (phase_ != model::Phase::connect) {
    enter(model::Phase::connect);
    connect_deadline_ = Clock::now() + timeout();
    if (kDeviceListener) watch_.begin(connect_deadline_ + kWatchGrace);
  }
  const auto ours = listener_of(own);
  const auto peers = listener_of(theirs);
  if (!ours || !peers || !dials(*ours, *peers)) return;
  if (auto failure = dial(*peers, connect_deadline_)) throw ProbeError(std::move(*failure));
}

wire::GroupRun Group::await_run() {
  phase_ = model::Phase::collective;
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [&] { return cancelled_ || run_; });
  if (cancelled_) throw Interrupted();
  return *std::exchange(run_, std::nullopt);
}

void Group::run_all(const wire::GroupRun& run) {
  wrong_from_ = 0;
  corrupt_.reset();
  for (std::uint32_t i = 0; i < run.steps.size(); ++i) {
    run_step(run, i);
    if (i + 1 == run.steps.size()) agree_on_wrong_ones(run);
    if (!cancelled_ && !corrupt_) around_.reporter.send(current_);
  }
  if (corrupt_) throw ProbeError(corrupt_->outcome, corrupt_->text);
}

/// Before the last report, so that the daemon knows the run to be over only when it is.
void Group::agree_on_wrong_ones(const wire::GroupRun& run) {
  const auto key = StepKey{run.round, static_cast<std::uint32_t>(run.steps.size())};
  wire::GroupAccusations words;
  words.attempt = prepare_.attempt;
  words.round = run.round;
  words.wrong_from =
      exchange_accusations(context_, wrong_from_, key, milliseconds(run.timeout_ms));
  const bool any = std::any_of(words.wrong_from.begin(), words.wrong_from.end(),
                               [](std::uint32_t word) { return word != 0; });
  if (any && !cancelled_) around_.reporter.send(words);
}

void Group::run_step(const wire::GroupRun& run, std::uint32_t index) {
  if (cancelled_) throw Interrupted();
  const wire::CollectiveStep& step = run.steps[index];
  current_ = {};
  current_.attempt = prepare_.attempt;
  current_.round = run.round;
  current_.collective = step.collective;
  current_.size_bytes = step.collective == model::Collective::barrier ? 0 : step.size_bytes;
  const auto began = Clock::now();
  Verified result;
  try {
    result = run_collective(context_, step, {run.round, index}, milliseconds(run.timeout_ms));
  } catch (...) {
    current_.duration_us = microseconds_since(began);
    throw;
  }
  current_.duration_us = microseconds_since(began);
  // A barrier is nothing but waiting for the others.
  if (step.collective == model::Collective::barrier) current_.wait_us = current_.duration_us;
  wrong_from_ |= result.wrong_from;
  if (result.wrong == 0 || corrupt_) return;
  corrupt_ = current_;
  corrupt_->outcome = model::Outcome::data_corruption;
  corrupt_->text = std::string(model::name(step.collective)) + " of " +
                   std::to_string(step.size_bytes) +
                   " bytes a rank: " + std::to_string(result.wrong) + " elements are wrong";
}

void Group::enter(model::Phase phase) {
  if (cancelled_) throw Interrupted();
  phase_ = phase;
  around_.reporter.enter(kScope, phase);
}

void Group::report_failure(const Failure& failure) {
  if (!cancelled_) around_.reporter.enter(kScope, model::Phase::teardown);
  context_.reset();
  current_.phase = phase_;
  current_.outcome = failure.outcome;
  current_.text = failure.text;
  // Wrong values came first; that a later step of the same run failed is less to know.
  if (corrupt_) current_ = *corrupt_;
  if (!cancelled_) around_.reporter.send(current_);
}

}  // namespace collwatch::gloo_probe
