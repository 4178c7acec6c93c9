// SPDX-License-Identifier: Apache-2.0
//
// See cover.h.
#include "daemon/attribute/cover.h"

#include <algorithm>
#include <cmath>
#include <set>

namespace collwatch::attribute {
namespace {

using model::Kind;
using model::Reason;

constexpr int kRoundsCap = 3;  ///< more rounds of the same say nothing new about *which* cause
constexpr double kWitnessAgainst = 3.0;
constexpr double kDialAgainst = 3.0;
constexpr double kProofAgainst = 6.0;
constexpr double kSelfAgainst =
    6.0;  ///< blaming somebody else for a worker that its own daemon lost
constexpr double kAliveLinkPrior = 0.5;  ///< a broken edge beside living datagrams: rare, not odd
constexpr double kStandingDiscount = 4.0;
/// An ok of the very round in which the failures began may be from just before the fault.
constexpr double kBoundaryDoubt = 0.25;
constexpr double kBetter = 1e-9;
constexpr double kInvalid = -1e9;
constexpr int kMostMoves = 64;

/// Does `cause` stop datagrams from `from` to `to`?
bool silences(const Candidate& candidate, Member from, Member to) {
  if (candidate.datagrams == Datagrams::alive) return false;
  const Cause& c = candidate.cause;
  switch (c.kind) {
    case Kind::node:
      return from == c.a || to == c.a;
    case Kind::node_egress:
      return from == c.a;
    case Kind::node_ingress:
      return to == c.a;
    case Kind::directed_link:
      return from == c.a && to == c.b;
    default:
      return covers(c, from, to);
  }
}

/// How much the dial's answer speaks against `candidate` being why `word` fails.
double dial_against(const Candidate& candidate, const FailingWord& word) {
  const Cause& c = candidate.cause;
  const bool accused = is_node_kind(c.kind) && c.a == word.peer;
  const bool observer_itself = is_node_kind(c.kind) && c.a == word.observer;
  if (accuses_itself(word)) return observer_itself && c.kind == Kind::node ? 0 : kSelfAgainst;
  if (!word.reason) return 0;
  const Reason reason = *word.reason;
  // Small packets pass at both ends of a path that swallows large ones.
  if (reason == Reason::size_blackhole)
    return c.kind == Kind::node || c.kind == Kind::link ? 0 : kDialAgainst;
  // Wrong bytes are those of whoever sent them.
  if (reason == Reason::data_corruption) return accused && c.kind == Kind::node ? 0 : kDialAgainst;
  // What the other side's kernel or daemon answered is not the observer's own trouble.
  if (observer_itself) return proves_node(word) ? kDialAgainst : 0;
  if (!accused || c.kind != Kind::node) {
    if (reason == Reason::unreachable) return 0;
    return proves_node(word) ? kProofAgainst : kDialAgainst;  // an answer crossed that path
  }
  if (candidate.datagrams == Datagrams::alive) {
    if (reason == Reason::unreachable) return kDialAgainst;
    return reason == Reason::agent_down ? kDialAgainst - 1 : 0;
  }
  const bool daemon_spoke =
      reason == Reason::worker_crash || reason == Reason::worker_stuck || reason == Reason::refused;
  return daemon_spoke ? kDialAgainst - 1 : 0;
}

}  // namespace

bool is_node_kind(Kind kind) {
  return kind == Kind::node || kind == Kind::node_egress || kind == Kind::node_ingress;
}

bool is_link_kind(Kind kind) {
  return kind == Kind::link || kind == Kind::directed_link;
}

bool in_group(const Cause& cause, Member member) {
  return std::find(cause.group.begin(), cause.group.end(), member) != cause.group.end();
}

bool covers(const Cause& cause, Member x, Member y) {
  if (cause.kind == Kind::partition) return in_group(cause, x) != in_group(cause, y);
  if (is_node_kind(cause.kind)) return cause.a == x || cause.a == y;
  return (cause.a == x && cause.b == y) || (cause.a == y && cause.b == x);
}

bool touches(const Cause& cause, Member node) {
  return cause.a == node || (is_link_kind(cause.kind) && cause.b == node);
}

Cover::Cover(const Observations& observations, const Parameters& parameters)
    : seen_(observations),
      parameters_(parameters),
      gain_(std::log(parameters.certainty / parameters.noise)),
      loss_(std::log((1 - parameters.noise) / (1 - parameters.certainty))) {
  std::set<Member> ends;
  for (const PairView& pair : seen_.pairs) {
    if (pair.failing.empty()) continue;
    ends.insert(pair.a);
    ends.insert(pair.b);
  }
  for (const Member n : ends) {
    const bool proof = proven(n);
    const bool strict = proof || broad(n);
    add_candidate({Kind::node, n, n, {}}, Datagrams::by_kind, strict, proof);
    add_candidate({Kind::node, n, n, {}}, Datagrams::alive, strict, proof);
    add_candidate({Kind::node_egress, n, n, {}}, Datagrams::by_kind, strict, proof);
    add_candidate({Kind::node_ingress, n, n, {}}, Datagrams::by_kind, strict, proof);
  }
  for (const PairView& pair : seen_.pairs) {
    if (pair.failing.empty()) continue;
    add_candidate({Kind::link, pair.a, pair.b, {}}, Datagrams::by_kind, true, false);
    add_candidate({Kind::link, pair.a, pair.b, {}}, Datagrams::alive, true, false);
    add_candidate({Kind::directed_link, pair.a, pair.b, {}}, Datagrams::by_kind, true, false);
    add_candidate({Kind::directed_link, pair.b, pair.a, {}}, Datagrams::by_kind, true, false);
  }
  if (auto cut = partition_seen_by(seen_)) {
    add_candidate(std::move(*cut), Datagrams::by_kind, true, false);
  }
}

void Cover::add_candidate(Cause cause, Datagrams datagrams, bool strict, bool proof) {
  Candidate c{std::move(cause), datagrams, strict, proof, 0, INT64_MIN, false, false, {}};
  for (std::size_t i = 0; i < seen_.pairs.size(); ++i) {
    const PairView& pair = seen_.pairs[i];
    if (!covers(c.cause, pair.a, pair.b)) continue;
    c.pairs.push_back(i);
    for (const FailingWord& word : pair.failing) {
      if (word.first > c.since) c.at_exchange = false;
      c.since = std::max(c.since, word.first);
      if (word.first == c.since && ran_into_silence(word)) c.at_exchange = true;
      if (word.reason == Reason::size_blackhole) c.sized = true;
    }
  }
  c.prior = prior(c);
  candidates_.push_back(std::move(c));
}

bool Cover::proven(Member node) const {
  for (const PairView& pair : seen_.pairs) {
    if (!pair.has(node)) continue;
    for (const FailingWord& word : pair.failing) {
      if (word.peer == node && proves_node(word)) return true;
      if (word.observer == node && accuses_itself(word)) return true;
      // With two members nobody else could ever confirm, and a kernel that took the connection for
      // a daemon that does not answer has shown that the path works.
      if (seen_.expected == 2 && word.peer == node && word.reason == Reason::host_stall)
        return true;
    }
  }
  return false;
}

bool Cover::broad(Member node) const {
  return std::count_if(seen_.pairs.begin(), seen_.pairs.end(), [node](const PairView& pair) {
           return pair.has(node) && !pair.failing.empty();
         }) >= 2;
}

/// A node must have two failing peers that no other node explains, else it is but a link.
bool Cover::any_narrow(const Set& set) const {
  for (const std::size_t i : set) {
    const Candidate& c = candidates_[i];
    if (!is_node_kind(c.cause.kind) || c.proof) continue;
    int own = 0;
    for (const std::size_t p : c.pairs) {
      const PairView& pair = seen_.pairs[p];
      if (pair.failing.empty()) continue;
      const bool shared = std::any_of(set.begin(), set.end(), [&](std::size_t j) {
        const Cause& other = candidates_[j].cause;
        return j != i && is_node_kind(other.kind) && covers(other, pair.a, pair.b);
      });
      own += shared ? 0 : 1;
    }
    if (own < 2) return true;
  }
  return false;
}

double Cover::prior(const Candidate& candidate) const {
  double nats = parameters_.prior;
  const Cause& mine = candidate.cause;
  if (mine.kind != Kind::node && mine.kind != Kind::link) nats += parameters_.direction_prior;
  if (mine.kind == Kind::link && candidate.datagrams == Datagrams::alive) nats += kAliveLinkPrior;
  // A network cut in two is rarer than two dead nodes, but likelier than three, and than half of
  // all members dying in the same second.
  if (mine.kind == Kind::partition && 2 * far_side(seen_, mine) < seen_.expected) {
    nats += parameters_.prior;
  }
  const auto same_entity = [&mine](const Cause& other) {
    if (mine.kind == Kind::partition) return other == mine;
    if (is_node_kind(mine.kind)) return is_node_kind(other.kind) && mine.a == other.a;
    return is_link_kind(other.kind) && covers(other, mine.a, mine.b);
  };
  const auto& standing = parameters_.standing;
  if (std::any_of(standing.begin(), standing.end(), same_entity)) nats -= kStandingDiscount;
  return nats;
}

double Cover::contradiction(const PairView& pair, const OkWord& ok, const Candidate& cause) const {
  if (ok.round < cause.since) return 0;
  if (cause.sized) {
    // A path that swallows large packets is ok in every round whose payload was small.
    const auto all_sizes = std::min<std::int64_t>(ok.round - cause.since, ok.rounds) - kSizesInTurn;
    return loss_ * static_cast<double>(std::clamp<std::int64_t>(all_sizes, 0, kRoundsCap));
  }
  const auto later =
      static_cast<double>(std::min<std::int64_t>(ok.round - cause.since, kRoundsCap));
  double overlap = std::min(later, static_cast<double>(ok.rounds));
  if (ok.rounds > ok.round - cause.since) {
    // The boundary round itself counts in full only if the accused lived to speak of the failure
    // and it began with an exchange: then this ok is of the same exchange. A reset may come at any
    // time of the round.
    const bool after =
        cause.at_exchange && is_node_kind(cause.cause.kind) && seen_.confirms[cause.cause.a];
    overlap += pair.failing.empty() && after ? 1.0 : kBoundaryDoubt;
  }
  return loss_ * overlap;
}

double Cover::pair_value(const PairView& pair, const Covering& covering) const {
  if (covering.size == 0) return 0;
  double nats = 0;
  for (const FailingWord& word : pair.failing) {
    double against = kSelfAgainst;
    for (const Candidate* c : covering) against = std::min(against, dial_against(*c, word));
    nats += word.weight * (gain_ * std::min(word.rounds, kRoundsCap) - against);
  }
  for (const OkWord& ok : pair.ok) {
    double against = 0;
    for (const Candidate* c : covering) against = std::max(against, contradiction(pair, ok, *c));
    nats -= against;
  }
  for (const Hearing& hearing : pair.hearings) {
    bool dead = false;
    for (const Candidate* c : covering) dead = dead || silences(*c, hearing.from, hearing.to);
    if (dead == hearing.heard) nats -= hearing.weight * kWitnessAgainst;
  }
  return nats;
}

double Cover::value(const Set& set) const {
  return any_narrow(set) ? kInvalid : fit(set);
}

double Cover::fit(const Set& set) const {
  double nats = 0;
  scratch_.resize(seen_.pairs.size());
  for (Covering& covering : scratch_) covering.size = 0;
  for (const std::size_t i : set) {
    nats -= candidates_[i].prior;
    for (const std::size_t pair : candidates_[i].pairs) scratch_[pair].push(&candidates_[i]);
  }
  for (std::size_t i = 0; i < scratch_.size(); ++i) nats += pair_value(seen_.pairs[i], scratch_[i]);
  return nats;
}

double Cover::gain_of(const Candidate& candidate, std::vector<Covering>& by_pair) const {
  double nats = -candidate.prior;
  for (const std::size_t i : candidate.pairs) {
    Covering& covering = by_pair[i];
    const double before = pair_value(seen_.pairs[i], covering);
    covering.push(&candidate);
    nats += pair_value(seen_.pairs[i], covering) - before;
    --covering.size;
  }
  return nats;
}

Cover::Set Cover::greedy(bool links_only) const {
  Set set;
  std::vector<Covering> by_pair(seen_.pairs.size());
  const auto most =
      std::min<std::size_t>(static_cast<std::size_t>(parameters_.max_causes), Covering::kMost - 1);
  while (set.size() < most) {
    double best = kBetter;
    std::size_t chosen = candidates_.size();
    for (std::size_t i = 0; i < candidates_.size(); ++i) {
      const Candidate& c = candidates_[i];
      if (!c.strict || (links_only && !is_link_kind(c.cause.kind))) continue;
      const double nats = gain_of(c, by_pair);
      if (nats > best + kBetter) {
        best = nats;
        chosen = i;
      }
    }
    if (chosen == candidates_.size()) break;
    set.push_back(chosen);
    for (const std::size_t pair : candidates_[chosen].pairs) {
      by_pair[pair].push(&candidates_[chosen]);
    }
  }
  return set;
}

/// Some failing pair is covered by both.
bool Cover::shares_failures(const Candidate& x, const Candidate& y) const {
  return std::any_of(x.pairs.begin(), x.pairs.end(), [&](std::size_t pair) {
    return !seen_.pairs[pair].failing.empty() &&
           std::find(y.pairs.begin(), y.pairs.end(), pair) != y.pairs.end();
  });
}

/// One exchange that makes `set` better: leave a cause out, or put a candidate in for whatever it
/// makes superfluous (a node for all links at it, a variant for its sibling).
bool Cover::improve(Set& set, double& best) const {
  const auto take = [&](Set other) {
    const double nats = value(other);
    if (nats <= best + kBetter) return false;
    best = nats;
    set = std::move(other);
    return true;
  };
  for (std::size_t i = 0; i < set.size(); ++i) {
    Set without = set;
    without.erase(without.begin() + static_cast<std::ptrdiff_t>(i));
    if (take(std::move(without))) return true;
  }
  for (std::size_t i = 0; i < candidates_.size(); ++i) {
    const Cause& mine = candidates_[i].cause;
    if (!candidates_[i].strict || std::find(set.begin(), set.end(), i) != set.end()) continue;
    Set other;
    for (const std::size_t j : set) {
      const Cause& c = candidates_[j].cause;
      bool replaced = is_link_kind(c.kind) && covers(c, mine.a, mine.b);
      if (is_node_kind(mine.kind)) replaced = touches(c, mine.a);
      if (mine.kind == Kind::partition || c.kind == Kind::partition) {
        replaced = shares_failures(candidates_[i], candidates_[j]);
      }
      if (!replaced) other.push_back(j);
    }
    if (other.size() + 1 >= Covering::kMost) continue;
    other.push_back(i);
    if (take(std::move(other))) return true;
  }
  return false;
}

Cover::Set Cover::solve() const {
  // Two starts, since each is a local optimum in one direction: nodes swallow links at once, links
  // merge into nodes by exchange.
  Set result;
  double result_value = 0;
  for (const bool links_only : {false, true}) {
    Set set = greedy(links_only);
    double nats = value(set);
    for (int moves = 0; moves < kMostMoves && improve(set, nats); ++moves) {
    }
    if (nats > result_value + kBetter) {
      result_value = nats;
      result = std::move(set);
    }
  }
  return result;
}

}  // namespace collwatch::attribute
