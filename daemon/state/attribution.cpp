// SPDX-License-Identifier: Apache-2.0
//
// Which explanation is which verdict: a known one renewed, a new one, one that another verdict
// already owns, or the better name of a suspect that was wrong. Part of Tracker.
#include <algorithm>

#include "daemon/attribute/explain.h"
#include "daemon/state/tracker_impl.h"

namespace collwatch::state {

using attribute::EdgeWord;

/// Some edge that accused works again.
bool Tracker::Impl::recovering(const Record& record, const Words& words) const {
  return std::any_of(record.edges.begin(), record.edges.end(),
                     [&words](const EdgeKey& edge) { return words.works(edge); });
}

/// The explanation that has taken over all failing edges of `record`, or that shows it to have been
/// a guess on the way to "I am cut off": others' words end there too, and some stay behind.
const Explanation* Tracker::Impl::better_name(const Frame& frame, const Record& record) const {
  const Explanation* better = nullptr;
  bool all_taken = true;
  for (const EdgeKey& edge : record.edges) {
    if (!frame.words.failing(edge)) continue;
    const auto other =
        std::find_if(frame.explanations.begin(), frame.explanations.end(),
                     [&edge](const Explanation& e) { return cause_covers(e.cause, edge); });
    if (other == frame.explanations.end()) {
      all_taken = false;
      continue;
    }
    better = &*other;
    const bool cut_off = other->cause.kind == model::Kind::self;
    if (cut_off && record.created >= other->first_failed) return better;
  }
  return all_taken ? better : nullptr;
}

/// A suspect whose every failing edge now has another explanation was the wrong one.
void Tracker::Impl::withdraw(const Frame& frame) {
  for (auto it = records.begin(); it != records.end();) {
    Record& record = it->second;
    const auto explained = [&](const Explanation& e) { return subject(e.cause) == it->first; };
    const auto& all = frame.explanations;
    if (record.from_claim || record.raised_before || recovering(record, frame.words) ||
        std::any_of(all.begin(), all.end(), explained)) {
      ++it;
      continue;
    }
    const Explanation* better = better_name(frame, record);
    if (better == nullptr) {
      ++it;
      continue;
    }
    emit(frame.now, record, "cleared",
         "withdrawn: its failures are those of " + attribute::entity(better->cause, names));
    it = records.erase(it);
  }
}

/// The verdict that this failing edge still belongs to: the same run of failures, while the verdict
/// recovers or is paged.
Record* Tracker::Impl::owner_of(const Frame& frame, const EdgeKey& edge, const EdgeWord& word) {
  for (auto& [key, record] : records) {
    if (record.from_claim || !cause_covers(record.cause, edge)) continue;
    const bool same_run = word.failing_since <= record.last_failed + 1;
    const bool recent = frame.now.round - record.last_explained <= limits.absorb_rounds;
    if (same_run && recent && (record.raised_before || recovering(record, frame.words))) {
      return &record;
    }
  }
  return nullptr;
}

/// What began while this agent was frozen, sick or cut off, or had not met one of the ends, looks
/// different from here for a while, since not all of it recovers (or is known) at once.
bool Tracker::Impl::blind_to(const Frame& frame, const EdgeKey& edge, const EdgeWord& word) const {
  std::int64_t since = last_blind;
  for (const Member end : {edge.first, edge.second}) {
    const auto met = met_in.find(end);
    if (met != met_in.end()) since = std::max(since, met->second);
  }
  return word.failing_since <= since + 1 && frame.now.round - since <= limits.absorb_rounds;
}

/// A new cause that owns nothing but such leftovers is no verdict of its own, for a while.
bool Tracker::Impl::absorb(const Frame& frame, const Explanation& e) {
  std::vector<Record*> owners;
  // Wrong bytes towards several peers are wrong bytes, whatever else is not known yet.
  const bool proven = e.outcome == model::Outcome::data_corruption && is_node_fault(e.cause.kind);
  const std::vector<EdgeKey> failing = frame.words.failing_under(e.cause);
  for (const EdgeKey& edge : failing) {
    const EdgeWord& word = *frame.words.find(edge);
    if (Record* owner = owner_of(frame, edge, word)) {
      owners.push_back(owner);
    } else if (proven || !blind_to(frame, edge, word)) {
      return false;
    }
  }
  for (Record* owner : owners) owner->last_failed = std::max(owner->last_failed, e.last_failed);
  return !failing.empty();
}

void Tracker::Impl::render_labels(Record& record, const Explanation& e) {
  record.shown.entity = attribute::entity(record.cause, names);
  record.shown.observers.clear();
  for (const Member m : record.observers) {
    if (m < names.size()) record.shown.observers.push_back(names[m]);
  }
  record.shown.ambiguous_with.clear();
  for (const attribute::Cause& rival : e.ambiguous_with) {
    const std::string other = attribute::entity(rival, names);
    auto& list = record.shown.ambiguous_with;
    if (other != record.shown.entity && std::find(list.begin(), list.end(), other) == list.end()) {
      list.push_back(other);
    }
  }
}

void Tracker::Impl::take_explanations(const Frame& frame) {
  for (const Explanation& e : frame.explanations) {
    const std::string key = subject(e.cause);
    auto it = records.find(key);
    const bool is_new = it == records.end();
    if (is_new) {
      // Being cut off is what makes an agent blind; it is not hidden by that blindness.
      if (e.cause.kind != model::Kind::self && absorb(frame, e)) continue;
      Record fresh;
      fresh.cause = e.cause;
      fresh.created = frame.now.round;
      fresh.last_failed = e.first_failed - 2;
      fresh.credited_until = e.first_failed - 1;
      fresh.decayed_until = e.first_failed - 1;
      fresh.shown.view = e.view;
      fresh.shown.since = frame.now.wall;
      it = records.emplace(key, std::move(fresh)).first;
    }
    Record& record = it->second;
    credit(record, frame.now, e, page_score, limits);
    for (const EdgeKey& edge : frame.words.failing_under(e.cause)) record.edges.insert(edge);
    render_labels(record, e);
    count_episode(record);
    if (is_new) emit(frame.now, record, "suspect", sentence(record.shown));
  }
}

}  // namespace collwatch::state
