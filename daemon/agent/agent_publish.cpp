// SPDX-License-Identifier: Apache-2.0
//
// The showing half of the agent: everything it knows as one immutable Snapshot.
#include <algorithm>

#include "daemon/agent/agent.h"

namespace collwatch::agent {

using base::Clock;
using base::TimePoint;

namespace {

double seconds(Clock::duration duration) {
  return std::chrono::duration<double>(duration).count();
}

}  // namespace

void Agent::publish() {
  const TimePoint now = Clock::now();
  auto snapshot = std::make_shared<exporters::Snapshot>();
  exporters::Snapshot& shown = *snapshot;
  shown.node = config_.node;
  shown.build.version = COLLWATCH_VERSION;
  shown.build.gloo = worker_->build();
  shown.build.nccl = nccl_->nccl_version();
  shown.build.cuda = nccl_->cuda_version();
  shown.cluster = config_.labels.cluster;
  shown.rack = config_.labels.rack;
  shown.rail = config_.labels.rail;
  shown.membership_epoch = epoch_;
  shown.membership_hash = view_hash_;
  for (const std::string& name : board_.names()) {
    const exporters::Member member{name, member_state(name)};
    note_member(member);
    shown.members.push_back(member);
  }
  shown.round_number = round_;
  shown.round_age_seconds = seconds(now - round_began_);
  shown.round_interval_seconds = seconds(config_.edge.interval);
  shown.clean_rounds = clean_rounds_;
  shown.local_health = health_.score();
  shown.scheduling_delay_seconds = seconds(shown_lateness_);
  shown.clock_skew_seconds = wall_skew_seconds(config_.node).value_or(0);

  shown.workers = {{"gloo", worker_->state(), worker_->why_not_running()}};
  shown.watch = watch_->shown();
  shown.c10d = c10d_->shown();
  shown.build.torch = shown.c10d.torch;
  if (config_.watch.processes.count() > 0) shown.jobs = jobs_;
  show_edges(shown, now);
  shown.collectives = ledger_.collectives();
  shown.verdicts = verdicts_;
  shown.fingerprints = active_fingerprints();
  note_fingerprints(shown.fingerprints);
  shown.recent_events = ledger_.recent_events();
  shown.counters = ledger_.counters();
  shown.workers_unreaped = unreaped_ + watchers_unreaped_ + stores_unreaped_ + nccl_unreaped_;
  shown.memory_limit_bytes = config_.limits.memory;
  shown.is_short_of_memory = memory_.is_short();
  shown.events_dropped = ledger_.events_dropped();
  shown.config_reload_success = reload_ok_;
  shown.ready = rounds_done_;
  if (!rounds_done_) {
    shown.not_ready_because =
        worker_->unavailable().empty() ? "the first round is not done yet" : worker_->unavailable();
  }
  shown.made_at = std::chrono::system_clock::now();
  const std::lock_guard lock(snapshot_mutex_);
  snapshot_ = std::move(snapshot);
}

void Agent::show_edges(exporters::Snapshot& shown, TimePoint now) const {
  std::size_t expected = 0;
  std::size_t unobserved = 0;
  for (const auto& [name, link] : links_) {
    const EdgeHistory& history = link->history();
    exporters::Edge edge;
    edge.peer = name;
    edge.outcome = history.latest();
    const bool grace_over = now - link->added_at() > config_.membership.join_grace;
    if (!edge.outcome && !link->joined() && grace_over) {
      edge.outcome = model::Outcome::never_joined;
    }
    edge.round_trip_seconds = history.round_trip_seconds();
    edge.lateness_seconds = late_seconds(*link);
    const auto facts = facts_.find(name);
    if (facts != facts_.end()) edge.witness.loss = facts->second.loss.share();
    edge.witness.heard = history.inbound(now, config_.edge.interval) == attribute::Heard::heard;
    edge.witness.available = !witness_missing(*link);
    shown.edges.push_back(edge);
    if (link->left() || !link->joined()) continue;
    ++expected;
    const bool seen = history.latest() && round_ - history.last_round() <= 3;
    unobserved += seen ? 0 : 1;
  }
  if (expected > 0) {
    shown.edges_unobserved_ratio = static_cast<double>(unobserved) / static_cast<double>(expected);
  }
}

void Agent::note_fingerprints(const std::vector<exporters::ActiveFingerprint>& active) {
  std::set<std::pair<model::Fingerprint, model::Source>> now;
  for (const exporters::ActiveFingerprint& found : active) {
    now.insert({found.id, found.source});
    // A finding was told when it came: with several ranks there are several of a kind.
    if (found.source != model::Source::probe) continue;
    if (shown_fingerprints_.contains({found.id, found.source})) continue;
    exporters::Event event;
    event.type = "fingerprint";
    event.state = "active";
    event.fingerprint = found;
    event.text = std::string(model::name(found.id)) + ": " + found.evidence.front();
    ledger_.record(std::move(event));
  }
  for (const auto& [id, source] : shown_fingerprints_) {
    if (now.contains({id, source})) continue;
    exporters::Event event;
    event.type = "fingerprint";
    event.state = "cleared";
    event.fingerprint.emplace().id = id;
    event.fingerprint->source = source;
    event.fingerprint->since = std::chrono::system_clock::now();
    event.text = std::string(model::name(id)) + " is over";
    ledger_.record(std::move(event));
  }
  shown_fingerprints_ = std::move(now);
}

void Agent::note_member(const exporters::Member& member) {
  const auto [known, is_new] = shown_states_.try_emplace(member.name, member.state);
  if (is_new || known->second == member.state) return;
  const std::string before(model::name(known->second));
  known->second = member.state;
  exporters::Event event;
  event.type = "member";
  event.state = std::string(model::name(member.state));
  event.member = member;
  event.text = member.name + " was " + before + ", is " + event.state;
  ledger_.record(std::move(event));
}

std::vector<exporters::ActiveFingerprint> Agent::active_fingerprints() {
  // A suspicion is not a finding yet: only what left it counts as active, or the alert on an
  // unowned fingerprint would page for every worker that was restarted.
  std::map<model::Fingerprint, exporters::ActiveFingerprint> active;
  for (const exporters::Verdict& verdict : verdicts_) {
    if (verdict.state == model::VerdictState::suspect) continue;
    if (verdict.fingerprint == model::Fingerprint::none) continue;
    auto& entry = active[verdict.fingerprint];
    const bool first = entry.evidence.empty();
    entry.id = verdict.fingerprint;
    entry.since = first ? verdict.since : std::min(entry.since, verdict.since);
    entry.evidence.push_back(std::string(model::name(verdict.kind)) + " " + verdict.entity + " " +
                             std::string(model::name(verdict.reason)));
    if (verdict.reason != model::Reason::version_mismatch) continue;
    const std::string why = why_odd(verdict.entity);
    if (!why.empty()) entry.evidence.back() += ": " + why;
  }
  // Tier B alone is a symptom; three times in a row with nobody named it is worth telling.
  if (active.empty() && group_ && group_->failed_runs() >= kBelievedGroupFailures) {
    const model::Outcome last = group_->last_failure();
    const auto id = last == model::Outcome::timeout ? model::Fingerprint::gloo_collective_timeout
                    : last == model::Outcome::data_corruption ? model::Fingerprint::data_corruption
                                                              : model::Fingerprint::gloo_peer_lost;
    auto& entry = active[id];
    if (entry.evidence.empty()) {
      entry.since = std::chrono::system_clock::now() - config_.gloo.interval;
    }
    entry.id = id;
    entry.evidence.push_back("group collectives failed " + std::to_string(group_->failed_runs()) +
                             " times in a row");
  }
  add_nccl_failure(active);
  std::vector<exporters::ActiveFingerprint> list;
  for (auto& [id, entry] : active) list.push_back(std::move(entry));
  for (auto& seen : sightings_.active(Clock::now())) list.push_back(std::move(seen));
  return list;
}

std::shared_ptr<const exporters::Snapshot> Agent::snapshot() const {
  const std::lock_guard lock(snapshot_mutex_);
  return snapshot_;
}

double Agent::seconds_since_turn() const {
  const auto turned = base::TimePoint(std::chrono::nanoseconds(turned_at_ns_.load()));
  return seconds(Clock::now() - turned);
}

}  // namespace collwatch::agent
