// SPDX-License-Identifier: Apache-2.0
//
// The judging half of the agent: evidence in, verdicts out, and the Snapshot that shows them.
#include <spdlog/spdlog.h>

#include <algorithm>
#include <cmath>

#include "daemon/agent/agent.h"
#include "daemon/agent/weak_paths.h"
#include "daemon/attribute/impairment.h"

namespace collwatch::agent {

using attribute::Member;
using base::Clock;
using base::Millis;
using base::TimePoint;

namespace {

/// Rounds for which timers that ran late excuse what others feel of it.
constexpr int kLateLasts = 3;
/// Share of edge.timeout; an exchange waits for several wake-ups of either side.
constexpr double kLateShare = 0.1;

}  // namespace

void Agent::evaluate_soon() {
  if (evaluate_timer_ != 0) return;
  // Reports of one round come within milliseconds of each other: one inference serves them all.
  evaluate_timer_ = loop_.after(Millis(10), [this] {
    evaluate_timer_ = 0;
    evaluate();
  });
}

attribute::ObserverReport Agent::own_report(TimePoint now) const {
  attribute::ObserverReport report;
  report.observer = board_.self();
  report.round = round_;
  report.local_health = health_.score();
  report.late = late_at_ && now - *late_at_ < kLateLasts * config_.edge.interval;
  std::size_t expected = 0;
  std::size_t ok = 0;
  for (const auto& [name, link] : links_) {
    if (link->left() || !link->joined()) continue;
    const auto peer = board_.index(name);
    if (!peer) continue;
    const auto facts = facts_.find(name);
    const std::int32_t lost = facts == facts_.end() ? -1 : facts->second.loss.of_forty();
    // Where datagrams are lost now and then, two in a row that are missing are no silence yet.
    const bool lossy =
        lost >= attribute::kLossyPath || known_impaired(verdicts_, config_.node, name);
    const auto interval = config_.edge.interval * (lossy ? 2 : 1);
    attribute::EdgeWord word = link->history().word(*peer, now, interval);
    word.lost = lost;
    if (witness_missing(*link)) word.inbound = attribute::Heard::unknown;
    word.late_ms = static_cast<std::int32_t>(std::min(late_seconds(*link) * 1e3, 30'000.0));
    ++expected;
    ok += word.state == attribute::EdgeState::ok ? 1 : 0;
    report.edges.push_back(word);
  }
  report.cut_off = expected > 0 && ok == 0 &&
                   std::all_of(report.edges.begin(), report.edges.end(), [](const auto& word) {
                     return word.state == attribute::EdgeState::failing;
                   });
  return report;
}

double Agent::late_seconds(const PeerLink& link) const {
  const auto recent = link.large_trips().recent();
  if (!recent) return 0;
  std::vector<double> others;
  for (const auto& [name, other] : links_) {
    if (other.get() == &link) continue;
    if (const auto theirs = other->large_trips().recent()) others.push_back(*theirs);
  }
  if (others.empty()) return lateness(*recent, link.large_trips().best());
  const auto middle = others.begin() + static_cast<std::ptrdiff_t>(others.size() / 2);
  std::nth_element(others.begin(), middle, others.end());
  return lateness(*recent, *middle);
}

bool Agent::any_path_weak() const {
  const attribute::Evidence heard = board_.evidence(
      own_report(Clock::now()), std::vector<bool>(board_.size(), true), Clock::now());
  return any_weak(heard.reports) || std::any_of(links_.begin(), links_.end(), [](const auto& link) {
           return link.second->large_trips().last_was_late();
         });
}

void Agent::evaluate() {
  const TimePoint now = Clock::now();
  if (leaving_ || round_ == 0) return;
  std::vector<bool> expected(board_.size(), true);
  for (const auto& [name, link] : links_) {
    link->settle_reason(now);
    if (const auto peer = board_.index(name)) expected[*peer] = link->joined() && !link->left();
  }
  attribute::Evidence evidence = board_.evidence(own_report(now), expected, now);
  evidence.known_impaired = impaired_causes(verdicts_, board_.names());
  attribute::Parameters parameters;
  parameters.standing = tracker_.standing();
  const auto explanations = attribute::explain(evidence, parameters);
  state::Moment moment;
  moment.round = round_;
  moment.seconds = std::chrono::duration<double>(now.time_since_epoch()).count();
  moment.wall = std::chrono::system_clock::now();
  std::vector<state::Claim> claimed = claims(now);
  for (const attribute::Impairment& found :
       link_patience_.pass(round_, attribute::impairments(evidence))) {
    state::Claim claim;
    claim.kind = found.cause.kind;
    claim.entity = attribute::entity(found.cause, board_.names());
    claim.reason = found.reason;
    claim.fingerprint = model::Fingerprint::straggler;
    claim.highest = model::VerdictState::ticket;
    claimed.push_back(std::move(claim));
  }
  state::Step step = tracker_.update(moment, evidence, explanations, claimed);
  verdicts_ = std::move(step.verdicts);
  for (exporters::Event& event : step.events) record_transition(std::move(event));
  publish();
}

void Agent::record_transition(exporters::Event event) {
  if (event.verdict && event.state == "suspect") {
    ledger_.count_fingerprint(event.verdict->fingerprint, model::Source::probe);
  }
  if (event.text.empty() && event.verdict) {
    const exporters::Verdict& verdict = *event.verdict;
    event.text = std::string(model::name(verdict.kind)) + " " + verdict.entity + " " +
                 std::string(model::name(verdict.reason)) + " (" +
                 std::string(model::name(verdict.fingerprint)) + ")";
    if (verdict.reason == model::Reason::version_mismatch) {
      const std::string why = why_odd(verdict.entity);
      if (!why.empty()) event.text += ": " + why;
    }
  }
  ledger_.record(std::move(event));
}

void Agent::update_health(TimePoint now) {
  attribute::HealthSigns signs;
  worst_lateness_ = loop_.take_worst_lateness();
  shown_lateness_ = worst_lateness_;
  signs.loop_late = std::chrono::duration_cast<Millis>(worst_lateness_);
  if (worker_) {
    const auto late = worker_->take_worst_lateness();
    signs.worker_late = std::chrono::duration_cast<Millis>(late);
    shown_lateness_ = std::max<Clock::duration>(shown_lateness_, late);
  }
  if (shown_lateness_ > kLateShare * config_.edge.timeout) late_at_ = now;
  std::vector<bool> expected(board_.size(), true);
  for (const auto& [name, link] : links_) {
    if (const auto peer = board_.index(name)) expected[*peer] = link->joined() && !link->left();
  }
  signs.alone_in_failing =
      attribute::alone_in_failing(board_.evidence(own_report(now), expected, now));
  health_.step(signs);
}

model::MemberState Agent::member_state(const std::string& name) const {
  if (name == config_.node) return model::MemberState::ok;
  const auto link = links_.find(name);
  if (link != links_.end() && link->second->left()) return model::MemberState::left;
  auto state = model::MemberState::ok;
  for (const exporters::Verdict& verdict : verdicts_) {
    const bool about_node = verdict.kind == model::Kind::node ||
                            verdict.kind == model::Kind::node_egress ||
                            verdict.kind == model::Kind::node_ingress;
    if (!about_node || verdict.entity != name) continue;
    if (verdict.reason == model::Reason::never_joined) return model::MemberState::never_joined;
    if (verdict.state == model::VerdictState::page) return model::MemberState::down;
    state = model::MemberState::suspect;
  }
  if (state == model::MemberState::ok && link != links_.end() && !link->second->joined()) {
    return model::MemberState::never_joined;
  }
  const auto facts = facts_.find(name);
  const bool view_known = facts != facts_.end() && facts->second.view;
  if (state == model::MemberState::ok && view_known && !same_view(name)) {
    return model::MemberState::stale_view;
  }
  return state;
}

}  // namespace collwatch::agent
