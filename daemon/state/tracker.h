// SPDX-License-Identifier: Apache-2.0
//
// Verdicts with rise and fall: explanations and claims go in at every evaluation, verdicts and
// their transitions come out. Called by the agent (each tick and each arrival of evidence), by the
// simulator and by tests, on one thread; time and rounds are passed in.
//
//            first evidence            2 rounds, score >= C          10 ok rounds of every
//   (none) ─────────────────▶ suspect ─────────────────────▶ page ─── edge that accused ──▶ cleared
//                                │  ╲___ its failures have a better explanation: withdrawn at once
//                                └── 10 ok rounds ──▶ cleared
//
// worker_crash and worker_stuck stay suspect until the third episode within a minute, or 20 s
// without a break. Silence clears nothing; a member that left is cleared at once. Kind and reason
// may be refined for two rounds, the entity never changes. Claims (misconfig, never_joined, ...)
// rise to their own ceiling after two rounds and fall after ten without the claim.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "daemon/attribute/evidence.h"
#include "exporters/snapshot.h"

namespace collwatch::state {

/// Something the agent knows for itself rather than by inference, e.g. {node, "n2", never_joined,
/// gloo_init_failed, page} once join_grace is over. Passed at every update while it is true; left
/// out or !active: no longer true.
struct Claim {
  model::Kind kind = model::Kind::misconfig;
  std::string entity;
  model::Reason reason = model::Reason::version_mismatch;
  model::Fingerprint fingerprint = model::Fingerprint::none;
  model::VerdictState highest = model::VerdictState::ticket;  ///< how far it may rise
  bool active = true;
};

struct Limits {
  int max_verdicts = 16;
  int clear_rounds = 10;  ///< successive ok rounds of every accusing edge
  int refine_rounds = 3;  ///< kind and reason may change: two whole rounds and the begun one
  int absorb_rounds = 8;  ///< a recovering verdict keeps its stragglers (reconnects are spread
                          ///< over 5 rounds) before they may become a verdict of their own
  int link_rounds = 3;    ///< with evidence, before a link is a page: all else around it works
  int alive_rounds = 5;   ///< failing in a row, before what still passes datagrams is a page
  int sized_rounds = 3;   ///< the same, where only large payloads fail: each is tried again at once
  double worker_page_seconds = 20;
  int worker_episodes = 3;
  double worker_window_seconds = 60;
};

/// C: nats that a page needs so that `members` nodes page falsely at most `false_pages_a_day`.
double page_threshold(std::uint32_t members, double interval_seconds,
                      double false_pages_a_day = 0.1);

struct Moment {
  std::int64_t round = 0;
  double seconds = 0;        ///< steady clock; only differences count
  exporters::WallTime wall;  ///< only shown
};

struct Step {
  std::vector<exporters::Verdict> verdicts;  ///< worst first, at most max_verdicts
  /// type "verdict", state suspect|ticket|page|cleared; `node` is left for the agent to fill.
  std::vector<exporters::Event> events;
};

class Tracker {
 public:
  /// `names`: the configured members, sorted; `page_score`: page_threshold(...).
  Tracker(std::vector<std::string> names, double page_score, Limits limits = {});
  ~Tracker();
  Tracker(Tracker&&) noexcept;
  Tracker& operator=(Tracker&&) noexcept;

  Step update(const Moment& now, const attribute::Evidence& evidence,
              const std::vector<attribute::Explanation>& explanations,
              const std::vector<Claim>& claims);

  /// The causes of the present verdicts, for attribute::Parameters::standing.
  std::vector<attribute::Cause> standing() const;

  /// The configured members changed: verdicts about names that stay are kept, others cleared (their
  /// events come with the next update).
  void set_members(std::vector<std::string> names, double page_score);

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace collwatch::state
