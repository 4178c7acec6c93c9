// SPDX-License-Identifier: Apache-2.0
//
// See tracker.h. Decides between verdicts: who is new, whose failures have a better explanation,
// whose stragglers belong to a verdict that is recovering, who rises and who falls.
#include "daemon/state/tracker.h"

#include <algorithm>
#include <cmath>
#include <deque>
#include <optional>
#include <utility>

#include "daemon/attribute/explain.h"
#include "daemon/attribute/local_health.h"
#include "daemon/state/record.h"
#include "probes/model/result.h"

namespace collwatch::state {
namespace {

using attribute::EdgeState;
using attribute::EdgeWord;
using attribute::Evidence;
using attribute::Explanation;
using attribute::Member;
using model::VerdictState;

bool cause_covers(const attribute::Cause& cause, const EdgeKey& edge) {
  if (is_node_fault(cause.kind) || cause.kind == model::Kind::self) {
    return cause.a == edge.first || cause.a == edge.second;
  }
  return (cause.a == edge.first && cause.b == edge.second) ||
         (cause.a == edge.second && cause.b == edge.first);
}

bool takes_part(const Evidence& evidence, Member member) {
  return member < evidence.expected.size() && evidence.expected[member];
}

/// The words of this update, by observer and peer.
class Words {
 public:
  explicit Words(const Evidence& evidence) {
    for (const auto& report : evidence.reports) {
      if (!takes_part(evidence, report.observer)) continue;
      for (const EdgeWord& word : report.edges) {
        if (takes_part(evidence, word.peer)) words_[{report.observer, word.peer}] = &word;
      }
    }
  }
  const EdgeWord* find(const EdgeKey& edge) const {
    const auto it = words_.find(edge);
    return it == words_.end() ? nullptr : it->second;
  }
  bool failing(const EdgeKey& edge) const {
    const EdgeWord* word = find(edge);
    return word != nullptr && word->state == EdgeState::failing && !is_over(edge, *word);
  }
  /// One of its ends has seen this edge work since.
  bool works(const EdgeKey& edge) const {
    const EdgeWord* word = find(edge);
    if (word == nullptr) return false;
    return word->state == EdgeState::ok || is_over(edge, *word);
  }
  /// The failing words that `cause` owns.
  std::vector<EdgeKey> failing_under(const attribute::Cause& cause) const {
    std::vector<EdgeKey> result;
    for (const auto& [edge, word] : words_) {
      if (cause_covers(cause, edge) && failing(edge)) result.push_back(edge);
    }
    return result;
  }

 private:
  /// The other end's newer ok: the failure is over, its observer's report is late.
  bool is_over(const EdgeKey& edge, const EdgeWord& word) const {
    const EdgeWord* other = find({edge.second, edge.first});
    return other != nullptr && other->state == EdgeState::ok && other->round > word.round;
  }

  std::map<EdgeKey, const EdgeWord*> words_;
};

EdgeKey reversed(const EdgeKey& edge) {
  return {edge.second, edge.first};
}

std::string sentence(const exporters::Verdict& verdict) {
  std::string text = std::string(model::name(verdict.kind)) + " " + verdict.entity + ": " +
                     std::string(model::name(verdict.reason));
  std::string by;
  for (const std::string& observer : verdict.observers) by += (by.empty() ? "" : ", ") + observer;
  if (!by.empty()) text += ", seen by " + by;
  return text;
}

}  // namespace

double page_threshold(std::uint32_t members, double interval_seconds, double false_pages_a_day) {
  const double evaluations = std::max(2U, members) * 86400.0 / std::max(0.001, interval_seconds);
  return std::log(evaluations / false_pages_a_day);
}

struct Tracker::Impl {
  std::vector<std::string> names;
  double page_score = 15;
  Limits limits;
  std::map<std::string, Record> records;
  std::map<Member, std::deque<double>> episodes;  ///< onsets of worker faults, in seconds
  bool started = false;
  std::int64_t last_blind = INT64_MIN / 2;  ///< round in which self could not judge
  std::vector<exporters::Event> events;     ///< of the update in progress, or of set_members

  struct Frame {
    const Moment& now;
    const Evidence& evidence;
    const std::vector<Explanation>& explanations;
    Words words;
  };

  void emit(const Moment& now, const Record& record, const std::string& state, std::string text);
  void note_blindness(const Moment& now, const Evidence& evidence,
                      const std::vector<Explanation>& explanations);
  void take_claims(const Moment& now, const std::vector<Claim>& claims);
  void withdraw(const Frame& frame);
  bool recovering(const Record& record, const Words& words) const;
  bool absorb(const Frame& frame, const Explanation& e);
  void take_explanations(const Frame& frame);
  void render_labels(Record& record, const Explanation& e);
  void count_episode(Record& record);
  bool may_page(const Record& record, const Moment& now) const;
  void rise(const Moment& now);
  bool has_fallen(const Frame& frame, const Record& record) const;
  bool edge_blocks(const Frame& frame, const Record& record, const EdgeKey& edge, int& good) const;
  void fall(const Frame& frame);
  Step output();
};

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
  const bool first = !std::exchange(started, true);
  const bool sick = std::any_of(
      evidence.reports.begin(), evidence.reports.end(), [&evidence](const auto& report) {
        return report.observer == evidence.self && report.local_health >= attribute::kMutedHealth;
      });
  const bool cut_off =
      std::any_of(explanations.begin(), explanations.end(),
                  [](const Explanation& e) { return e.cause.kind == model::Kind::self; });
  if (first || sick || cut_off) last_blind = now.round;
}

void Tracker::Impl::take_claims(const Moment& now, const std::vector<Claim>& claims) {
  for (const Claim& claim : claims) {
    if (!claim.active) continue;
    const std::string key = "claim " + std::string(model::name(claim.kind)) + " " + claim.entity +
                            " " + std::string(model::name(claim.reason));
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

/// Some edge that accused works again.
bool Tracker::Impl::recovering(const Record& record, const Words& words) const {
  return std::any_of(record.edges.begin(), record.edges.end(),
                     [&words](const EdgeKey& edge) { return words.works(edge); });
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
    int failing = 0;
    const Explanation* better = nullptr;
    const bool all_taken =
        std::all_of(record.edges.begin(), record.edges.end(), [&](const EdgeKey& edge) {
          if (!frame.words.failing(edge)) return true;
          ++failing;
          const auto other = std::find_if(all.begin(), all.end(), [&edge](const Explanation& e) {
            return cause_covers(e.cause, edge);
          });
          if (other == all.end()) return false;
          better = &*other;
          return true;
        });
    if (!all_taken || failing == 0) {
      ++it;
      continue;
    }
    emit(frame.now, record, "cleared",
         "withdrawn: its failures are those of " + attribute::entity(better->cause, names));
    it = records.erase(it);
  }
}

/// A new cause that owns nothing but what a standing verdict left over (same runs of failures,
/// while that verdict recovers or is paged) is that verdict's straggler, for a while.
bool Tracker::Impl::absorb(const Frame& frame, const Explanation& e) {
  std::vector<Record*> owners;
  const std::vector<EdgeKey> failing = frame.words.failing_under(e.cause);
  if (failing.empty()) return false;
  for (const EdgeKey& edge : failing) {
    const EdgeWord* word = frame.words.find(edge);
    Record* owner = nullptr;
    for (auto& [key, record] : records) {
      if (record.from_claim) continue;
      const bool accused = record.edges.count(edge) != 0 || record.edges.count(reversed(edge)) != 0;
      const bool same_run = word->failing_since <= record.last_failed + 1;
      const bool recent = frame.now.round - record.last_explained <= limits.absorb_rounds;
      if (accused && same_run && recent &&
          (record.raised_before || recovering(record, frame.words))) {
        owner = &record;
      }
    }
    // What began while this agent was frozen, sick, cut off or not yet there looks different from
    // here for a while, since not all of it recovers (or is known) at once.
    const bool blind = word->failing_since <= last_blind + 1 &&
                       frame.now.round - last_blind <= limits.absorb_rounds;
    if (owner == nullptr && !blind) return false;
    if (owner != nullptr) owners.push_back(owner);
  }
  for (Record* owner : owners) owner->last_failed = std::max(owner->last_failed, e.last_failed);
  return true;
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
      if (absorb(frame, e)) continue;
      Record fresh;
      fresh.cause = e.cause;
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
  if (record.evidence_rounds < 2 || record.sum < page_score - 1e-9) return false;
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

void Tracker::set_members(std::vector<std::string> names, double page_score) {
  const std::vector<std::string> old = std::move(impl_->names);
  const auto moved = [&old, &names](Member m) -> std::optional<Member> {
    if (m >= old.size()) return std::nullopt;
    const auto it = std::find(names.begin(), names.end(), old[m]);
    if (it == names.end()) return std::nullopt;
    return static_cast<Member>(it - names.begin());
  };
  std::map<std::string, Record> kept;
  for (auto& [key, record] : impl_->records) {
    if (record.from_claim) {
      kept.emplace(key, std::move(record));
      continue;
    }
    const auto a = moved(record.cause.a);
    const auto b = moved(record.cause.b);
    if (!a || !b) {
      exporters::Event event;
      event.type = "verdict";
      event.state = "cleared";
      event.text = sentence(record.shown) + "; no longer a member";
      event.verdict = record.shown;
      impl_->events.push_back(std::move(event));
      continue;
    }
    record.cause.a = *a;
    record.cause.b = *b;
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
    kept.emplace(subject(record.cause), std::move(record));
  }
  impl_->records = std::move(kept);
  std::map<Member, std::deque<double>> episodes;
  for (auto& [member, onsets] : impl_->episodes) {
    if (const auto to = moved(member)) episodes[*to] = std::move(onsets);
  }
  impl_->episodes = std::move(episodes);
  impl_->names = std::move(names);
  impl_->page_score = page_score;
}

}  // namespace collwatch::state
