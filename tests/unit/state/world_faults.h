// SPDX-License-Identifier: Apache-2.0
//
// The fault table of the design as data for the simulated world: how to break and mend, what every
// unaffected agent must say, and by when. Used by the world tests only.
#pragma once

#include <functional>
#include <set>
#include <string>
#include <vector>

#include "tests/support/evidence_world.h"

namespace collwatch::tests {

struct Fault {
  std::string spec;                ///< "drop:n1>n2"
  std::set<Member> affected;       ///< members whose own view may differ
  std::set<model::Kind> kinds;     ///< any of these
  std::set<std::string> entities;  ///< any of these
  std::set<model::Reason> reasons;
  model::Fingerprint fingerprint = model::Fingerprint::gloo_collective_timeout;
  bool verdict = true;  ///< false: nothing may be said
  bool page = true;
  Ms suspect_by = 2000;
  Ms page_by = 3000;
  std::function<void(World&)> start;
  std::function<void(World&)> mend;  ///< nothing: it heals by itself
};

/// Every row of the table with every victim, for so many members.
std::vector<Fault> all_faults(const WorldOptions& options);
Fault make_fault(const std::string& kind, Member a, Member b, const WorldOptions& options);

/// The members of `minority` (sorted, the side without n0 if halves) cut off from all others.
Fault make_partition(const std::vector<Member>& minority);

/// What is wrong with what `agent` said about these faults, all begun at `onset`; one line each.
std::vector<std::string> complaints(const World& world, Member agent, Ms onset,
                                    const std::vector<Fault>& faults);
/// An agent's whole story, for failure messages.
std::string story(const World& world, Member agent);

}  // namespace collwatch::tests
