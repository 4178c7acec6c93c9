// SPDX-License-Identifier: Apache-2.0
//
// From words to causes: which few faults explain the failures that are known here? Candidate causes
// compete in one likelihood cover (design 1.5): node, node_egress, node_ingress, link,
// directed_link; what one explains, another cannot be blamed for. Pure, deterministic and fast
// (under a millisecond at 8 members), so it runs at every tick and at every arrival of evidence, on
// the loop's thread, in the simulator and in tests alike.
//
//   explanations = explain(evidence, parameters)      // state/tracker turns them into verdicts
//
// A cause is withheld while the round that would confirm or refute it is still under way: a link is
// not named before the others could say whether they reach its ends (they did, or a new round has
// begun), since "link" that becomes "node" 200 ms later has suspected an innocent.
#pragma once

#include <string>
#include <vector>

#include "daemon/attribute/evidence.h"

namespace collwatch::attribute {

struct Parameters {
  double noise = 1e-3;      ///< probability that a healthy edge fails in a round
  double certainty = 0.99;  ///< probability that an edge fails in a round when its cause is there
  double prior = 5.0;       ///< nats a cause must gain before it is named
  double direction_prior = 1.0;  ///< extra, for a cause that claims a direction
  double ambiguity = 3.0;        ///< rivals within so many nats are named in ambiguous_with
  int max_causes = 8;
  /// Causes that are verdicts already (Tracker::standing()): they pay no prior, so that a second
  /// fault is not explained by turning the first one into something bigger.
  std::vector<Cause> standing;
};

/// The causes, best first; empty when nothing fails or nothing may be said yet. All of them own at
/// least one failing word. An observer that is cut off from everybody gets only {self, isolated}.
std::vector<Explanation> explain(const Evidence& evidence, const Parameters& parameters = {});

/// "It is me, not them": at least half of self's edges fail (two at least) while the peers at their
/// other ends report ok edges among themselves. Input of LocalHealth.
bool alone_in_failing(const Evidence& evidence);

/// Entities as design 2.6 spells them: "n2", "n0<->n1" (sorted by name), "n1->n0".
std::string entity(const Cause& cause, const std::vector<std::string>& names);

/// How the agent fills EdgeWord::inbound. `heard_age_ms`: since the peer's last datagram, -1 never;
/// `failing_for_ms`: since the exchange that failed first *began*, -1 while the edge is ok;
/// `interval_ms`: of the rounds (two datagrams each). A datagram from before the failure proves
/// nothing about the time after it: heard needs one since then, silent needs two missing.
Heard hearing(std::int64_t heard_age_ms, std::int64_t failing_for_ms, std::int64_t interval_ms);

}  // namespace collwatch::attribute
