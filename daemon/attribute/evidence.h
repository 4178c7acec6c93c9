// SPDX-License-Identifier: Apache-2.0
//
// What attribution reasons over: each observer's latest word about its *own* edges, nothing else.
// Filled by the agent from its worker, its witness and the evidence datagrams of its peers; by the
// simulator and the tests from their models. Pure data; members are indices into the sorted list of
// configured members.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "probes/model/vocabulary.h"

namespace collwatch::attribute {

using Member = std::uint32_t;

/// What an observer hears on its witness from one peer. `unknown`: no witness on this pair (UDP
/// filtered, or too early to say).
enum class Heard : std::uint8_t { unknown, heard, silent };

enum class EdgeState : std::uint8_t {
  unknown,  ///< not probed yet (joining), or no outcome in this window
  ok,
  failing
};

/// One observer's word about its edge to `peer`.
struct EdgeWord {
  Member peer = 0;
  EdgeState state = EdgeState::unknown;
  model::Outcome outcome = model::Outcome::ok;  ///< the latest; the failure while failing
  std::int64_t round = 0;                       ///< of the latest outcome
  std::int64_t failing_since = 0;  ///< first failing round of this run of failures; 0 when ok
  std::int32_t failed_rounds = 0;  ///< distinct rounds with a failure in this run
  std::int32_t ok_rounds = 0;      ///< successive ok rounds since the last failure
  Heard inbound = Heard::unknown;  ///< do I hear this peer's witness?
  /// What the observer's dial of the peer port says about why (design 1.5); nothing yet: not known.
  std::optional<model::Reason> reason;
  // How well it works, while it does.
  std::int32_t late_ms = 0;  ///< later than this observer's other edges by so much; 0: not felt
  std::int32_t lost = -1;  ///< of the last 40 witness datagrams from the peer; -1: too few were due
};

/// Everything one observer says at one time. `self` words come from the agent itself.
struct ObserverReport {
  Member observer = 0;
  std::int64_t round = 0;  ///< the observer's round when it spoke
  int local_health = 0;    ///< 0..8, as the observer judges itself
  bool late = false;       ///< its timers ran late a moment ago: it has too little processor time
  bool cut_off = false;    ///< no ok edge at all, though it has peers
  std::vector<EdgeWord> edges;
};

/// A cause that explains failures. `a` is the node, or the lower name of a link; for directed links
/// a -> b in the direction that is dead.
struct Cause {
  model::Kind kind = model::Kind::node;
  Member a = 0;
  Member b = 0;
  std::vector<Member> group;  ///< partition: the minority's members
  bool operator==(const Cause&) const = default;
};

/// Input of one inference, at one agent. Reports older than two rounds are left out by the caller
/// (their observer is then one nobody hears).
struct Evidence {
  Member self = 0;
  std::uint32_t members = 0;            ///< configured, self included
  std::int64_t round = 0;               ///< now
  std::vector<bool> expected;           ///< by member: takes part (not left, not never-joined)
  std::vector<ObserverReport> reports;  ///< at most one per observer, self's included
  /// Nodes and links that a verdict calls slow or lossy. While all edges of one fail nothing else
  /// says so any more.
  std::vector<Cause> known_impaired;
};

struct Explanation {
  Cause cause;
  double score = 0;               ///< nats gained over "noise", all rounds, the cause's prior paid
  double round_score = 0;         ///< nats that one round's evidence gives (each owned word once)
  int failed_rounds = 0;          ///< distinct rounds with evidence that this cause owns
  std::int64_t first_failed = 0;  ///< first and last failing round it owns
  std::int64_t last_failed = 0;
  /// Links: both ends have worked elsewhere since the failures began, so neither is going down.
  /// Nodes: no edge of it has worked since. A page waits a round for it.
  bool confirmed = true;
  /// Datagrams pass both ways where exchanges fail, and nobody's dial knows why (or only that large
  /// ones do not pass): as on a path that loses packets now and then. Only what goes on failing is
  /// more than that.
  bool alive = false;
  std::vector<Member> observers;      ///< whose failing edges it owns
  std::vector<Cause> ambiguous_with;  ///< within 3 nats
  model::View view = model::View::heard;
  model::Reason reason = model::Reason::unreachable;
  bool reason_known = false;  ///< false: nobody's dial has answered the why yet
  model::Outcome outcome = model::Outcome::timeout;  ///< the first failure's, majority of observers
};

}  // namespace collwatch::attribute
