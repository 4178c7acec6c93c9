// SPDX-License-Identifier: Apache-2.0
//
// See tracker.h. An update in its steps, with the claims, the rise and the fall.
#include "daemon/state/tracker.h"

#include <algorithm>
#include <cmath>

#include "daemon/attribute/local_health.h"
#include "daemon/state/tracker_impl.h"

namespace collwatch::state {

using attribute::EdgeState;
using attribute::EdgeWord;
using model::VerdictState;

std::string sentence(const exporters::Verdict& verdict) {
  std::string text = std::string(model::name(verdict.kind)) + " " + verdict.entity + ": " +
                     std::string(model::name(verdict.reason));
  std::string by;
  for (const std::string& observer : verdict.observers) by += (by.empty() ? "" : ", ") + observer;
  if (!by.empty()) text += ", seen by " + by;
  return text;
}

double page_threshold(std::uint32_t members, double interval_seconds, double false_pages_a_day) {
  const double evaluations = std::max(2U, members) * 86400.0 / std::max(0.001, interval_seconds);
  return std::log(evaluations / false_pages_a_day);
}

void Tracker::Impl::emit(const Moment& now, const Record& record, const std::string& state,
                         std::string text) {
  exporters::Event event;
  event.time = now.wall;
  event.type = "verdict";
  event.state = state;
  event.verdict = record.shown;
  event.text = std::move(text);
  events.push_back(std::move(event));
}

void Tracker::Impl::note_blindness(const Moment& now, const Evidence& evidence,
                                   const std::vector<Explanation>& explanations) {
  for (Member m = 0; m < evidence.members; ++m) {
    if (!takes_part(evidence, m)) met_in.erase(m);
    if (takes_part(evidence, m)) met_in.try_emplace(m, now.round);
  }
  const bool sick = std::any_of(
      evidence.reports.begin(), evidence.reports.end(), [&evidence](const auto& report) {
        return report.observer == evidence.self && report.local_health >= attribute::kMutedHealth;
      });
  const bool cut_off =
      std::any_of(explanations.begin(), explanations.end(),
                  [](const Explanation& e) { return e.cause.kind == model::Kind::self; });
  if (sick || cut_off) last_blind = now.round;
}

/// Edges have named the same already.
bool Tracker::Impl::inferred(const Claim& claim) const {
  return std::any_of(records.begin(), records.end(), [&claim](const auto& entry) {
    const exporters::Verdict& shown = entry.second.shown;
    return !entry.second.from_claim && shown.kind == claim.kind && shown.entity == claim.entity &&
           shown.reason == claim.reason;
  });
}

void Tracker::Impl::take_claims(const Moment& now, const std::vector<Claim>& claims) {
  for (const Claim& claim : claims) {
    if (!claim.active) continue;
    const std::string key = "claim " + std::string(model::name(claim.kind)) + " " + claim.entity +
                            " " + std::string(model::name(claim.reason));
    if (records.count(key) == 0 && inferred(claim)) continue;
    const auto [it, is_new] = records.try_emplace(key);
    Record& record = it->second;
    record.claimed_last = now.round;
    record.highest = claim.highest;
    if (!is_new) continue;
    record.from_claim = true;
    record.claimed_first = now.round;
    record.shown.kind = claim.kind;
    record.shown.entity = claim.entity;
    record.shown.reason = claim.reason;
    record.shown.fingerprint = claim.fingerprint;
    record.shown.since = now.wall;
    emit(now, record, "suspect", sentence(record.shown));
  }
}

void Tracker::Impl::count_episode(Record& record) {
  if (record.episode_counted || !is_node_fault(record.cause.kind)) return;
  if (!record.reason_known || !is_worker_fault(record.shown.reason)) return;
  record.episode_counted = true;
  episodes[record.cause.a].push_back(record.onset_seconds);
}

bool Tracker::Impl::may_page(const Record& record, const Moment& now) const {
  const bool node = is_node_fault(record.cause.kind);
  if (node && record.reason_known && is_worker_fault(record.shown.reason)) {
    // Its own daemon respawns it; only if that does not help is it anybody's business.
    const auto it = episodes.find(record.cause.a);
    const bool again =
        it != episodes.end() && static_cast<int>(it->second.size()) >= limits.worker_episodes;
    const bool still = now.round - record.last_failed <= 1 &&
                       now.seconds - record.onset_seconds > limits.worker_page_seconds;
    return again || still;
  }
  const bool link =
      record.cause.kind == model::Kind::link || record.cause.kind == model::Kind::directed_link;
  const int rounds = link ? limits.link_rounds : 2;
  if (record.evidence_rounds < rounds || record.sum < page_score - 1e-9) return false;
  // What was known of it is no longer held against it: its edges are excused, or explained better.
  if (record.last_explained != now.round) return false;
  const bool sized = record.reason_known && record.shown.reason == model::Reason::size_blackhole;
  const int patience = sized ? limits.sized_rounds : limits.alive_rounds;
  if (record.alive && record.longest_run < patience) return false;
  // One more round for what is not sure yet to be all of it.
  if (!record.confirmed && now.round < record.first_failed + 3) return false;
  // The reason decides whether a node is a page at all; wait for it, but not beyond the third
  // round.
  return !node || record.reason_known || now.round >= record.first_failed + 2;
}

void Tracker::Impl::rise(const Moment& now) {
  for (auto& [member, onsets] : episodes) {
    while (!onsets.empty() && now.seconds - onsets.front() > limits.worker_window_seconds) {
      onsets.pop_front();
    }
  }
  for (auto& [key, record] : records) {
    if (record.shown.state != VerdictState::suspect) continue;
    if (record.from_claim) {
      if (record.claimed_last <= record.claimed_first) continue;
      if (record.highest == VerdictState::suspect) continue;
      record.shown.state = record.highest;
    } else if (may_page(record, now)) {
      record.shown.state = VerdictState::page;
    } else {
      continue;
    }
    record.raised_before = true;
    record.shown.score = record.peak;
    record.shown.confidence = confidence_of(record, page_score);
    emit(now, record, std::string(model::name(record.shown.state)), sentence(record.shown));
  }
}

/// Does this edge keep the verdict? Counts it as `good` when it is positively well.
bool Tracker::Impl::edge_blocks(const Frame& frame, const Record& record, const EdgeKey& edge,
                                int& good) const {
  if (!takes_part(frame.evidence, edge.first) || !takes_part(frame.evidence, edge.second)) {
    return false;
  }
  const bool elsewhere = std::any_of(records.begin(), records.end(), [&](const auto& entry) {
    const Record& other = entry.second;
    return &other != &record && !other.from_claim && other.last_explained >= frame.now.round - 1 &&
           cause_covers(other.cause, edge);
  });
  bool ok = false;
  for (const EdgeKey& end : {edge, reversed(edge)}) {
    const EdgeWord* word = frame.words.find(end);
    if (word == nullptr || word->state == EdgeState::unknown) continue;
    if (word->state == EdgeState::failing || word->ok_rounds < limits.clear_rounds) {
      return !elsewhere;
    }
    ok = true;
  }
  good += ok ? 1 : 0;
  return !ok && !elsewhere;
}

bool Tracker::Impl::has_fallen(const Frame& frame, const Record& record) const {
  if (record.from_claim) {
    return frame.now.round - record.claimed_last >= limits.clear_rounds;
  }
  const bool gone =
      !takes_part(frame.evidence, record.cause.a) || !takes_part(frame.evidence, record.cause.b);
  if (gone) return true;
  int good = 0;
  for (const EdgeKey& edge : record.edges) {
    if (edge_blocks(frame, record, edge, good)) return false;
  }
  return good > 0 || record.edges.empty();
}

void Tracker::Impl::fall(const Frame& frame) {
  for (auto it = records.begin(); it != records.end();) {
    if (!has_fallen(frame, it->second)) {
      ++it;
      continue;
    }
    emit(frame.now, it->second, "cleared", sentence(it->second.shown) + "; over");
    it = records.erase(it);
  }
}

Step Tracker::Impl::output() {
  Step step;
  for (auto& [key, record] : records) {
    record.shown.score = record.peak;
    record.shown.confidence = confidence_of(record, page_score);
    step.verdicts.push_back(record.shown);
  }
  std::stable_sort(step.verdicts.begin(), step.verdicts.end(), [](const auto& x, const auto& y) {
    if (x.state != y.state) return x.state > y.state;
    return x.score > y.score;
  });
  // What a claim and the edges name alike is one verdict.
  for (auto it = step.verdicts.begin(); it != step.verdicts.end();) {
    const bool twice = std::any_of(step.verdicts.begin(), it, [&it](const auto& worse) {
      return worse.kind == it->kind && worse.entity == it->entity && worse.reason == it->reason;
    });
    it = twice ? step.verdicts.erase(it) : it + 1;
  }
  if (static_cast<int>(step.verdicts.size()) > limits.max_verdicts) {
    step.verdicts.resize(static_cast<std::size_t>(limits.max_verdicts));
  }
  step.events.swap(events);
  return step;
}

Tracker::Tracker(std::vector<std::string> names, double page_score, Limits limits)
    : impl_(std::make_unique<Impl>()) {
  impl_->names = std::move(names);
  impl_->page_score = page_score;
  impl_->limits = limits;
}
Tracker::~Tracker() = default;
Tracker::Tracker(Tracker&&) noexcept = default;
Tracker& Tracker::operator=(Tracker&&) noexcept = default;

Step Tracker::update(const Moment& now, const Evidence& evidence,
                     const std::vector<Explanation>& explanations,
                     const std::vector<Claim>& claims) {
  impl_->note_blindness(now, evidence, explanations);
  if (impl_->records.empty() && explanations.empty() && claims.empty() && impl_->events.empty()) {
    return {};
  }
  const Impl::Frame frame{now, evidence, explanations, Words(evidence)};
  for (exporters::Event& event : impl_->events) event.time = now.wall;  // set_members had no clock
  for (auto& [key, record] : impl_->records) decay(record, now.round, impl_->page_score);
  impl_->take_claims(now, claims);
  impl_->withdraw(frame);
  impl_->take_explanations(frame);
  impl_->rise(now);
  impl_->fall(frame);
  return impl_->output();
}

std::vector<attribute::Cause> Tracker::standing() const {
  std::vector<attribute::Cause> causes;
  for (const auto& [key, record] : impl_->records) {
    if (!record.from_claim && record.raised_before) causes.push_back(record.cause);
  }
  return causes;
}

}  // namespace collwatch::state
