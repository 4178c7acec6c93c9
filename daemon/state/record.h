// SPDX-License-Identifier: Apache-2.0
//
// One verdict's memory: which edges accused, in which rounds, how strongly. The parts of the rise
// and fall that concern a single verdict live here; state/tracker decides between verdicts.
// Internal to daemon/state; pure, time passed in.
//
// Rise is a winsorised sum: each failing round adds min(its nats, C/2), so that one round, however
// bad, never pages; each clean round takes C/8 away, so that rare single failures never add up.
#pragma once

#include <cstdint>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "daemon/attribute/evidence.h"
#include "daemon/state/tracker.h"

namespace collwatch::state {

using EdgeKey = std::pair<attribute::Member, attribute::Member>;  ///< observer, peer

struct Record {
  exporters::Verdict shown;
  bool from_claim = false;
  bool raised_before = false;  ///< has left suspect once

  // Inference.
  attribute::Cause cause;
  std::set<EdgeKey> edges;  ///< every word that ever accused
  std::set<attribute::Member> observers;
  std::int64_t created = 0;       ///< round
  std::int64_t first_failed = 0;  ///< of the present run of failures
  std::int64_t last_failed = 0;
  std::int64_t last_explained = 0;  ///< round of the last update that explained it
  std::int64_t credited_until = 0;
  std::int64_t decayed_until = 0;
  double last_credit = 0;
  double sum = 0;
  double peak = 0;
  int evidence_rounds = 0;
  std::int64_t refine_until = 0;  ///< last round in which kind and reason may freely change
  double onset_seconds = 0;
  bool episode_counted = false;
  bool reason_known = false;
  bool confirmed = false;
  bool alive = false;   ///< of the latest explanation
  int longest_run = 0;  ///< failing rounds in a row, of any edge, in the latest explanation
  int other_reason_rounds = 0;  ///< rounds in which a settled worker fault looked like more
  std::int64_t other_reason_at = 0;

  // Claims.
  std::int64_t claimed_first = 0;
  std::int64_t claimed_last = 0;
  model::VerdictState highest = model::VerdictState::page;
};

/// A first or renewed explanation: evidence, kind, reason, observers, score.
void credit(Record& record, const Moment& now, const attribute::Explanation& e, double page_score,
            const Limits& limits);
/// Completed rounds without new failures take from the sum.
void decay(Record& record, std::int64_t round, double page_score);
/// The fingerprint of what it is now; a verdict that left suspect keeps the one it had then.
model::Fingerprint fingerprint_of(model::Kind kind, model::Reason reason, bool reason_known,
                                  model::Outcome outcome);
model::Confidence confidence_of(const Record& record, double page_score);
bool is_worker_fault(model::Reason reason);
bool is_node_fault(model::Kind kind);
/// "node n2", "link n0<->n1": what a cause is about, whatever its direction.
std::string subject(const attribute::Cause& cause);

}  // namespace collwatch::state
