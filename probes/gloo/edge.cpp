// SPDX-License-Identifier: Apache-2.0
//
// The life of one attempt, in the order in which it happens. live() may throw at any point; run()
// is where it ends.
#include "probes/gloo/edge.h"

#include <pthread.h>

#include "probes/gloo/dial.h"
#include "probes/gloo/outcome.h"
#include "probes/gloo/record.h"

namespace collwatch::gloo_probe {
Edge::Edge(const Surroundings& around, wire::EdgePrepare prepare)
    : around_(around), prepare_(std::move(prepare)), scope_("edge:" + prepare_.peer) {
  MeetingStore::Options options;
  options.rank = prepare_.rank;
  options.size = 2;
  options.deadline = Clock::now() + timeout() + kMeetingGrace;
  options.publish = [this](const wire::Blob& record) {
    around_.reporter.send(
        wire::EdgePrepared{prepare_.peer, prepare_.attempt, wrap_record(record, around_.build)});
  };
  options.before_connect = [this](const wire::Blob& own, const wire::Blob& theirs) {
    before_connect(own, theirs);
  };
  store_ = std::make_shared<MeetingStore>(std::move(options));
  thread_ = std::thread([this] { run(); });
}

Edge::~Edge() {
  cancel();
  thread_.join();
}

// --- the control thread -----------------------------------------------------------------------

void Edge::connect(const wire::EdgeConnect& connect) {
  auto record = unwrap_record(connect.blob, around_.build, 2);
  if (!record) return store_->refuse(record.error());
  {
    const std::lock_guard lock(mutex_);
    context_id_ = connect.context_id;
  }
  store_->deliver({*record, *record});
}

void Edge::round(std::int64_t number, int timeout_ms, std::uint32_t large_bytes) {
  if (prepare_.rank != 0) return;
  const std::lock_guard lock(mutex_);
  if (!link_) return;
  task_ = Task{number, milliseconds(timeout_ms), large_bytes};
  link_->nudge();
}

void Edge::cancel() {
  cancelled_ = true;
  store_->interrupt();
  const std::lock_guard lock(mutex_);
  if (link_) link_->nudge();
}

void Edge::tick(Clock::time_point now) {
  if (!watch_.give_up(now)) return;
  cancelled_ = true;
  auto late = blank_report(model::Phase::connect);
  late.outcome = model::Outcome::timeout;
  late.text = "no connection within " + std::to_string(prepare_.timeout_ms) + " ms";
  around_.reporter.send(late);
}

// --- the edge's thread ------------------------------------------------------------------------

void Edge::run() {
  pthread_setname_np(pthread_self(), ("e:" + prepare_.peer).substr(0, 15).c_str());
  try {
    live();
  } catch (const Interrupted&) {
    destroy_context();
  } catch (const LinkError& error) {
    report_failure(error.failure, error.round, error.failed_bytes);
  } catch (const ProbeError& error) {
    report_failure(error.failure(), 0, 0);
  } catch (const std::exception& error) {
    report_failure(classify(error.what(), phase_), 0, 0);
  }
  over_ = true;
}

void Edge::live() {
  open();
  enter(model::Phase::warmup);
  warm_up();
  if (prepare_.rank == 0) {
    start_rounds();
  } else {
    answer_rounds();
  }
}

void Edge::open() {
  enter(model::Phase::device_init);
  const auto device = around_.devices.for_address(prepare_.local_address);
  enter(model::Phase::rendezvous);
  connect_context(device);

  Link::Options options;
  options.rank = prepare_.rank;
  options.cancelled = &cancelled_;
  {
    const std::lock_guard lock(mutex_);
    options.own_seal = make_seal(context_id_, around_.node);
    options.peer_seal = make_seal(context_id_, prepare_.peer);
  }
  auto link = std::make_unique<Link>(context_, options);
  const std::lock_guard lock(mutex_);
  link_ = std::move(link);
}

void Edge::connect_context(const std::shared_ptr<GlooDevice>& device) {
  context_ = std::make_shared<GlooContext>(prepare_.rank, 2);
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

void Edge::before_connect(const wire::Blob& own, const wire::Blob& theirs) {
  if (phase_ == model::Phase::connect) return;  // some builds ask twice
  enter(model::Phase::connect);
  const auto deadline = Clock::now() + timeout();
  if (kDeviceListener) watch_.begin(deadline + kWatchGrace);
  const auto ours = listener_of(own);
  const auto peers = listener_of(theirs);
  if (!ours || !peers || !dials(*ours, *peers)) return;
  if (auto failure = dial(*peers, deadline)) throw ProbeError(std::move(*failure));
}

void Edge::warm_up() {
  const Exchange done = prepare_.rank == 0 ? link_->start(0, 0, timeout())
                                           : link_->answer(Clock::now() + timeout(), timeout());
  if (done.round != 0) {
    throw ProbeError(model::Outcome::mismatch, "the peer skipped the first exchange");
  }
  report_ok(model::Phase::connect, done);
}

void Edge::start_rounds() {
  phase_ = model::Phase::collective;
  for (;;) {
    std::optional<Task> task;
    {
      const std::lock_guard lock(mutex_);
      task = std::exchange(task_, std::nullopt);
    }
    if (cancelled_) throw Interrupted();
    if (task) {
      report_ok(phase_, link_->start(task->number, task->large_bytes, task->timeout));
    } else {
      link_->idle();
    }
  }
}

void Edge::answer_rounds() {
  phase_ = model::Phase::collective;
  const auto patience = milliseconds(prepare_.interval_ms) + timeout();
  for (;;) report_ok(phase_, link_->answer(link_->last_token() + patience, timeout()));
}

void Edge::destroy_context() {
  std::unique_ptr<Link> link;
  {
    const std::lock_guard lock(mutex_);
    link = std::move(link_);
  }
  link.reset();
  context_.reset();
}

// --- reports ----------------------------------------------------------------------------------

void Edge::enter(model::Phase phase) {
  if (cancelled_) throw Interrupted();
  phase_ = phase;
  around_.reporter.enter(scope_, phase);
}

void Edge::report(const wire::EdgeReport& report) {
  if (!cancelled_) around_.reporter.send(report);
}

wire::EdgeReport Edge::blank_report(model::Phase phase) const {
  wire::EdgeReport report;
  report.peer = prepare_.peer;
  report.attempt = prepare_.attempt;
  report.phase = phase;
  return report;
}

void Edge::report_ok(model::Phase phase, const Exchange& done) {
  auto ok = blank_report(phase);
  ok.round = done.round;
  ok.payload_bytes = done.payload_bytes;
  ok.round_trip_us = done.round_trip_us;
  ok.large_round_trip_us = done.large_round_trip_us;
  report(ok);
}

void Edge::report_failure(const Failure& failure, std::int64_t round, std::uint32_t failed_bytes) {
  if (!cancelled_) around_.reporter.enter(scope_, model::Phase::teardown);
  destroy_context();
  auto failed = blank_report(phase_);
  failed.round = round;
  failed.outcome = failure.outcome;
  failed.half = failure.half;
  failed.payload_bytes = failed_bytes;
  failed.failed_bytes = failed_bytes;
  failed.text = failure.text;
  report(failed);
}

}  // namespace collwatch::gloo_probe
