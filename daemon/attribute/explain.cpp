// SPDX-License-Identifier: Apache-2.0
//
// See explain.h. The cover says which causes fit best; this file decides which of them may be named
// now, and fills in who saw them, why, and what else would fit nearly as well.
#include "daemon/attribute/explain.h"

#include <algorithm>
#include <array>
#include <set>

#include "daemon/attribute/cover.h"
#include "daemon/attribute/local_health.h"
#include "daemon/attribute/observations.h"
#include "daemon/attribute/partition.h"

namespace collwatch::attribute {
namespace {

using model::Kind;
using model::Outcome;
using model::Reason;

/// Worth of an answer from the accused's side, in nats: with it one observer reaches a page.
constexpr double kProofNats = 3.0;
/// Rounds of failures after which an answer that all is well is no longer believed.
constexpr int kBelieved = 3;

std::vector<const FailingWord*> owned_words(const Observations& seen, const Cause& cause) {
  std::vector<const FailingWord*> words;
  for (const PairView& pair : seen.pairs) {
    if (!covers(cause, pair.a, pair.b)) continue;
    for (const FailingWord& word : pair.failing) words.push_back(&word);
  }
  return words;
}

template <typename E>
using Votes = std::array<double, model::kCount<E>>;

template <typename E>
E majority(const Votes<E>& votes) {
  return static_cast<E>(std::max_element(votes.begin(), votes.end()) - votes.begin());
}

/// Is there a third member whose edge to `end` was ok in `round` or later?
bool works_elsewhere(const Observations& seen, Member end, Member other, std::int64_t round) {
  return std::any_of(seen.pairs.begin(), seen.pairs.end(), [&](const PairView& pair) {
    if (!pair.has(end) || pair.has(other) || !pair.failing.empty()) return false;
    return std::any_of(pair.ok.begin(), pair.ok.end(),
                       [round](const OkWord& ok) { return ok.round >= round; });
  });
}

/// Has any edge of `node` that nobody complains of been ok in `round` or later?
bool works_with_anybody(const Observations& seen, Member node, std::int64_t round) {
  return std::any_of(seen.pairs.begin(), seen.pairs.end(), [&](const PairView& pair) {
    if (!pair.has(node) || !pair.failing.empty()) return false;
    return std::any_of(pair.ok.begin(), pair.ok.end(),
                       [round](const OkWord& ok) { return ok.round >= round; });
  });
}

/// See Explanation::alive.
bool alive(const Observations& seen, const Cause& cause,
           const std::vector<const FailingWord*>& words) {
  for (const FailingWord* word : words) {
    // Large payloads that fail are no proof: on a path that loses a tenth of all packets most do.
    if (proves_node(*word) || accuses_itself(*word) || word->reason == Reason::data_corruption)
      return false;
  }
  std::set<Member> hearing;
  std::size_t heard = 0;
  std::size_t silent = 0;
  for (const PairView& pair : seen.pairs) {
    if (!covers(cause, pair.a, pair.b)) continue;
    for (const Hearing& one : pair.hearings) {
      ++(one.heard ? heard : silent);
      if (one.heard) hearing.insert(one.to);
    }
  }
  // A cut is silent both ways, or in one direction everywhere; two datagrams in a row get lost here
  // and there now and then.
  if (silent == 0) return hearing.size() >= 2;
  return cause.kind == Kind::link ? heard > 0 : heard >= 3 * silent;
}

/// A link is named once a new round has begun, or at once when both its ends have spoken of it, it
/// began with an exchange, and both work elsewhere: then neither is dying.
bool link_settled(const Observations& seen, const Cause& cause,
                  const std::vector<const FailingWord*>& words) {
  if (seen.expected <= 2) return true;
  std::int64_t first = INT64_MAX;
  std::set<Member> spoke;
  bool at_exchange = false;
  for (const FailingWord* word : words) {
    first = std::min(first, word->first);
    spoke.insert(word->observer);
    at_exchange = at_exchange || ran_into_silence(*word);
  }
  const bool sized = std::any_of(words.begin(), words.end(), [](const FailingWord* word) {
    return word->reason == Reason::size_blackhole;
  });
  // Each pair has its large payloads in rounds of its own: the other edges of both ends must have
  // had theirs.
  if (sized || alive(seen, cause, words)) return seen.round > first + kSizesInTurn;
  if (seen.round > first) return true;
  return spoke.size() == 2 && at_exchange && works_elsewhere(seen, cause.a, cause.b, first) &&
         works_elsewhere(seen, cause.b, cause.a, first);
}

/// A node is named at once, unless an ok of this very round says otherwise (it may be from just
/// before the fault), or nobody but the node itself complains of it.
bool node_settled(const Observations& seen, const Cause& cause,
                  const std::vector<const FailingWord*>& words) {
  std::int64_t latest = INT64_MIN;
  bool by_others = false;
  for (const FailingWord* word : words) {
    latest = std::max(latest, word->first);
    by_others = by_others || word->peer == cause.a;
    if (word->peer == cause.a && proves_node(*word)) return true;
    if (word->observer == cause.a && accuses_itself(*word)) return true;
  }
  if (seen.round > latest) return true;
  if (cause.a == seen.self && !by_others) return false;
  return !works_with_anybody(seen, cause.a, latest);
}

bool settled(const Observations& seen, const Cause& cause,
             const std::vector<const FailingWord*>& words) {
  if (cause.kind == Kind::partition) return partition_settled(seen, cause);
  return is_link_kind(cause.kind) ? link_settled(seen, cause, words)
                                  : node_settled(seen, cause, words);
}

/// Is it more than a moment's guess? Both ends of a link have worked elsewhere since, and nobody
/// has found a node well since.
bool confirmed(const Observations& seen, const Cause& cause, std::int64_t first) {
  if (seen.expected <= 2 || cause.kind == Kind::partition) return true;
  if (is_link_kind(cause.kind)) {
    return works_elsewhere(seen, cause.a, cause.b, first + 1) &&
           works_elsewhere(seen, cause.b, cause.a, first + 1);
  }
  return !works_with_anybody(seen, cause.a, first);
}

void fill_reason(Explanation& e, const std::vector<const FailingWord*>& words) {
  Votes<Reason> votes{};
  Votes<Reason> own_word{};
  for (const FailingWord* word : words) {
    if (is_node_kind(e.cause.kind) && word->observer == e.cause.a) {
      if (word->outcome == Outcome::worker_crash) own_word[int(Reason::worker_crash)] += 1;
      if (word->outcome == Outcome::worker_stuck) own_word[int(Reason::worker_stuck)] += 1;
      continue;  // what the accused thinks of its peers is not why it fails
    }
    if (!word->reason) continue;
    const Reason reason = *word->reason;
    votes[static_cast<std::size_t>(reason)] += word->weight;
    // These two come from the accused's own daemon, which knows.
    if (reason == Reason::worker_crash || reason == Reason::worker_stuck) {
      own_word[static_cast<std::size_t>(reason)] += word->weight;
    }
  }
  const auto any = [](const Votes<Reason>& v) {
    return std::any_of(v.begin(), v.end(), [](double n) { return n > 0; });
  };
  const bool has_own_word = is_node_kind(e.cause.kind) && any(own_word);
  e.reason_known = has_own_word || any(votes);
  if (e.reason_known) e.reason = majority<Reason>(has_own_word ? own_word : votes);
}

Explanation describe(const Observations& seen, const Cover& cover, const Cause& cause,
                     const std::vector<const FailingWord*>& words) {
  Explanation e;
  e.cause = cause;
  if (cause.kind == Kind::link && e.cause.b < e.cause.a) std::swap(e.cause.a, e.cause.b);
  std::set<Member> observers;
  Votes<Outcome> outcomes{};
  e.first_failed = INT64_MAX;
  e.last_failed = INT64_MIN;
  bool proof = false;
  for (const FailingWord* word : words) {
    observers.insert(word->observer);
    outcomes[static_cast<std::size_t>(word->outcome)] += word->weight;
    e.round_score += word->weight * cover.word_gain();
    e.failed_rounds = std::max(e.failed_rounds, word->rounds);
    e.first_failed = std::min(e.first_failed, word->first);
    e.last_failed = std::max(e.last_failed, word->last);
    proof = proof || (word->peer == cause.a && proves_node(*word));
  }
  if (proof && is_node_kind(cause.kind)) e.round_score += kProofNats;
  e.observers.assign(observers.begin(), observers.end());
  e.view = observers.count(seen.self) != 0 ? model::View::direct : model::View::heard;
  e.outcome = majority<Outcome>(outcomes);
  e.alive = alive(seen, cause, words);
  fill_reason(e, words);
  if (!e.reason_known && e.alive && cause.kind == Kind::node && e.failed_rounds >= kBelieved) {
    // Its daemon is heard and answers that all is well, yet nobody gets an exchange through: the
    // worker there does not do what it says.
    e.reason = Reason::worker_stuck;
    e.reason_known = true;
  }
  return e;
}

std::vector<Cause> rivals(const Cover& cover, const Cover::Set& set, std::size_t index,
                          double margin) {
  std::vector<Cause> result;
  const double best = cover.value(set);
  Cover::Set other = set;
  for (std::size_t i = 0; i < cover.candidates().size(); ++i) {
    const Cause& cause = cover.candidates()[i].cause;
    if (cause == cover.candidates()[set[index]].cause) continue;
    other[index] = i;
    const bool known = std::find(result.begin(), result.end(), cause) != result.end();
    if (!known && cover.fit(other) >= best - margin) result.push_back(cause);
  }
  return result;
}

/// The usual case, decided without building anything.
bool all_well(const Evidence& evidence) {
  for (const ObserverReport& report : evidence.reports) {
    for (const EdgeWord& word : report.edges) {
      if (word.state == EdgeState::failing) return false;
    }
  }
  return true;
}

/// An observer that was frozen, or that is the sick one, has old words and bad clocks: it accuses
/// nobody until it is well again.
bool muted(const Evidence& evidence) {
  return std::any_of(evidence.reports.begin(), evidence.reports.end(),
                     [&evidence](const ObserverReport& report) {
                       return report.observer == evidence.self && weight(report.local_health) <= 0;
                     });
}

/// Everything around here fails and nothing is heard: whatever happened, it happened to me.
std::optional<Explanation> cut_off(const Evidence& evidence, const Observations& seen,
                                   const Cover& cover) {
  std::vector<const FailingWord*> mine;
  std::int64_t first = INT64_MAX;
  for (const PairView& pair : seen.pairs) {
    if (!pair.has(seen.self)) continue;
    for (const OkWord& ok : pair.ok) {
      if (ok.observer == seen.self) return std::nullopt;
    }
    for (const Hearing& hearing : pair.hearings) {
      if (hearing.to == seen.self && hearing.heard) return std::nullopt;
    }
    for (const FailingWord& word : pair.failing) {
      if (word.observer != seen.self) continue;
      if (proves_node(word) || word.reason == Reason::host_stall) return std::nullopt;
      if (accuses_itself(word)) return std::nullopt;
      mine.push_back(&word);
      first = std::min(first, word.first);
    }
  }
  if (mine.size() < 2) return std::nullopt;
  for (const ObserverReport& report : evidence.reports) {
    if (report.observer != seen.self && report.round > first) return std::nullopt;
  }
  Explanation e = describe(seen, cover, {Kind::self, seen.self, seen.self, {}}, mine);
  e.score = e.round_score;
  e.reason = Reason::isolated;
  e.reason_known = true;
  return e;
}

}  // namespace

std::vector<Explanation> explain(const Evidence& evidence, const Parameters& parameters) {
  if (all_well(evidence)) return {};
  const Observations seen = observe(evidence);
  if (!seen.any_failing) return {};
  if (muted(evidence)) return {};
  const Cover cover(seen, parameters);
  if (auto isolated = cut_off(evidence, seen, cover)) return {std::move(*isolated)};

  const Cover::Set set = cover.solve();
  const double best = cover.value(set);
  std::vector<Explanation> result;
  for (std::size_t i = 0; i < set.size(); ++i) {
    const Cause& cause = cover.candidates()[set[i]].cause;
    const auto words = owned_words(seen, cause);
    if (words.empty() || !settled(seen, cause, words)) continue;
    Explanation e = describe(seen, cover, cause, words);
    Cover::Set without = set;
    without.erase(without.begin() + static_cast<std::ptrdiff_t>(i));
    e.score = best - cover.value(without);
    e.confirmed = confirmed(seen, cause, e.first_failed);
    e.ambiguous_with = rivals(cover, set, i, parameters.ambiguity);
    result.push_back(std::move(e));
  }
  std::stable_sort(result.begin(), result.end(),
                   [](const Explanation& x, const Explanation& y) { return x.score > y.score; });
  return result;
}

bool alone_in_failing(const Evidence& evidence) {
  const auto takes_part = [&evidence](Member m) {
    return m < evidence.expected.size() && evidence.expected[m];
  };
  std::size_t edges = 0;
  std::set<Member> failing;
  std::int64_t first = INT64_MAX;
  for (const ObserverReport& report : evidence.reports) {
    if (report.observer != evidence.self) continue;
    for (const EdgeWord& word : report.edges) {
      if (!takes_part(word.peer) || word.state == EdgeState::unknown) continue;
      ++edges;
      if (word.state != EdgeState::failing) continue;
      failing.insert(word.peer);
      first = std::min(first, word.failing_since);
    }
  }
  if (failing.size() < 2 || failing.size() * 2 < edges) return false;
  std::set<Member> agree;
  for (const ObserverReport& report : evidence.reports) {
    if (failing.count(report.observer) == 0) continue;
    for (const EdgeWord& word : report.edges) {
      if (failing.count(word.peer) == 0 || word.state != EdgeState::ok || word.round < first)
        continue;
      agree.insert(report.observer);
      agree.insert(word.peer);
    }
  }
  return agree == failing;
}

}  // namespace collwatch::attribute
