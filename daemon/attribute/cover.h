// SPDX-License-Identifier: Apache-2.0
//
// The likelihood cover: the set of candidate causes that best explains all words together, found by
// a greedy start and a handful of exchange moves. Internal to daemon/attribute; explain.h decides
// what of it may be said aloud. Pure and deterministic.
//
// Value of a set, in nats over "it is all noise":
//   + ln(q/eps)       for each failing word (times its rounds, at most 3) that some cause covers
//   - ln((1-eps)/(1-q)) for each ok word that a cause contradicts (times the rounds since the
//                       cause's failures began, at most 3)
//   - a few nats        for each witness or dial that speaks against the covering causes
//   - a prior           for each cause
// and no set is valid in which an unproven node has fewer than two failing peers of its own.
#pragma once

#include <array>
#include <cstddef>
#include <vector>

#include "daemon/attribute/explain.h"
#include "daemon/attribute/observations.h"
#include "daemon/attribute/partition.h"

namespace collwatch::attribute {

/// What a cause does to the witness datagrams beside the edges it breaks; the kind alone does not
/// say (a dead node is silent, one whose worker died is not).
enum class Datagrams : std::uint8_t { by_kind, alive };

struct Candidate {
  Cause cause;
  Datagrams datagrams = Datagrams::by_kind;
  bool strict = true;        ///< has breadth or proof; others only serve as rivals
  bool proof = false;        ///< a node that one observer may convict
  double prior = 0;          ///< nats it has to gain
  std::int64_t since = 0;    ///< its failures' latest beginning: oks before it do not contradict
  bool sized = false;        ///< only large payloads fail: small ones do not contradict
  bool at_exchange = false;  ///< began with a timeout, hence with that round's exchange
  std::vector<std::size_t> pairs;  ///< what it covers, indices into Observations::pairs
};

class Cover {
 public:
  using Set = std::vector<std::size_t>;  ///< indices into candidates()

  Cover(const Observations& observations, const Parameters& parameters);

  Set solve() const;
  double value(const Set& set) const;
  /// The same without the rule of breadth: how well would it fit?
  double fit(const Set& set) const;
  const std::vector<Candidate>& candidates() const { return candidates_; }
  /// Nats of one failing word in one round.
  double word_gain() const { return gain_; }

 private:
  /// The causes of a set that cover one pair; no more than a set has.
  struct Covering {
    static constexpr std::size_t kMost = 16;
    std::array<const Candidate*, kMost> causes{};
    std::size_t size = 0;
    void push(const Candidate* c) { causes[size++] = c; }
    const Candidate* const* begin() const { return causes.data(); }
    const Candidate* const* end() const { return causes.data() + size; }
  };

  void add_candidate(Cause cause, Datagrams datagrams, bool strict, bool proof);
  bool proven(Member node) const;
  bool broad(Member node) const;
  bool any_narrow(const Set& set) const;
  double prior(const Candidate& candidate) const;
  double pair_value(const PairView& pair, const Covering& covering) const;
  double contradiction(const PairView& pair, const OkWord& ok, const Candidate& cause) const;
  double gain_of(const Candidate& candidate, std::vector<Covering>& by_pair) const;
  Set greedy(bool links_only) const;
  bool shares_failures(const Candidate& x, const Candidate& y) const;
  bool improve(Set& set, double& best) const;

  const Observations& seen_;
  const Parameters& parameters_;
  double gain_;
  double loss_;
  std::vector<Candidate> candidates_;
  mutable std::vector<Covering> scratch_;  ///< value() is called thousands of times
};

bool is_node_kind(model::Kind kind);
bool is_link_kind(model::Kind kind);
/// Partition: on the side that the cause lists.
bool in_group(const Cause& cause, Member member);
bool covers(const Cause& cause, Member x, Member y);
/// The node itself, or a link that ends there.
bool touches(const Cause& cause, Member node);

}  // namespace collwatch::attribute
