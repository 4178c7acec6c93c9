// SPDX-License-Identifier: Apache-2.0
//
// The configured members changed: verdicts move to the new indices, or end. Part of Tracker.
#include <algorithm>
#include <optional>
#include <set>

#include "daemon/state/tracker_impl.h"

namespace collwatch::state {

namespace {

/// Old index -> new index of a member that stays.
class Moves {
 public:
  Moves(const std::vector<std::string>& old, const std::vector<std::string>& names) {
    for (Member m = 0; m < old.size(); ++m) {
      const auto it = std::find(names.begin(), names.end(), old[m]);
      if (it != names.end()) to_[m] = static_cast<Member>(it - names.begin());
    }
  }
  std::optional<Member> operator()(Member m) const {
    const auto it = to_.find(m);
    return it == to_.end() ? std::nullopt : std::optional<Member>(it->second);
  }

 private:
  std::map<Member, Member> to_;
};

/// False: what the verdict is about is no longer a member, or not all of it.
bool move_record(Record& record, const Moves& moved) {
  const auto a = moved(record.cause.a);
  const auto b = moved(record.cause.b);
  std::vector<Member> group;
  for (const Member m : record.cause.group) {
    if (const auto to = moved(m)) group.push_back(*to);
  }
  // The entity of a partition is its members: without one of them it is another.
  if (!a || !b || group.size() != record.cause.group.size()) return false;
  record.cause.a = *a;
  record.cause.b = *b;
  record.cause.group = std::move(group);
  std::set<EdgeKey> edges;
  for (const EdgeKey& edge : record.edges) {
    const auto from = moved(edge.first);
    const auto to = moved(edge.second);
    if (from && to) edges.insert({*from, *to});
  }
  record.edges = std::move(edges);
  std::set<Member> observers;
  for (const Member m : record.observers) {
    if (const auto to = moved(m)) observers.insert(*to);
  }
  record.observers = std::move(observers);
  return true;
}

}  // namespace

void Tracker::set_members(std::vector<std::string> names, double page_score) {
  const Moves moved(impl_->names, names);
  std::map<std::string, Record> kept;
  for (auto& [key, record] : impl_->records) {
    if (record.from_claim) {
      kept.emplace(key, std::move(record));
      continue;
    }
    if (!move_record(record, moved)) {
      exporters::Event event;
      event.type = "verdict";
      event.state = "cleared";
      event.text = sentence(record.shown) + "; no longer a member";
      event.verdict = record.shown;
      impl_->events.push_back(std::move(event));
      continue;
    }
    kept.emplace(subject(record.cause), std::move(record));
  }
  impl_->records = std::move(kept);
  std::map<Member, std::deque<double>> episodes;
  for (auto& [member, onsets] : impl_->episodes) {
    if (const auto to = moved(member)) episodes[*to] = std::move(onsets);
  }
  impl_->episodes = std::move(episodes);
  std::map<Member, std::int64_t> met_in;
  for (const auto& [member, round] : impl_->met_in) {
    if (const auto to = moved(member)) met_in[*to] = round;
  }
  impl_->met_in = std::move(met_in);
  impl_->names = std::move(names);
  impl_->page_score = page_score;
}

}  // namespace collwatch::state
