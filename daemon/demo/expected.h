// SPDX-License-Identifier: Apache-2.0
//
// What the agents must say about a fault: design table 2.7 as data. Pure; used by the watcher, the
// summary and the tests. One Plan per fault: which verdicts are accepted at the unaffected agents,
// what the victim itself must say, which entities the fault explains (whoever blames another one is
// wrong), and how far the verdict may go.
#pragma once

#include <string>
#include <vector>

#include "daemon/demo/fault.h"
#include "probes/model/vocabulary.h"

namespace collwatch::demo {

struct Expectation {
  model::Kind kind = model::Kind::node;
  std::string entity;
  model::Reason reason = model::Reason::unreachable;
  model::VerdictState state = model::VerdictState::page;  ///< how far it must go
  bool operator==(const Expectation&) const = default;
};

struct Plan {
  Fault fault;
  std::vector<Expectation> expected;  ///< at the unaffected agents: any one of them; empty: silence
  std::vector<Expectation> at_victim;  ///< what the victim says of itself; empty: not asked
  model::Fingerprint fingerprint = model::Fingerprint::none;
  std::vector<int> affected;          ///< nodes whose own view does not count
  std::vector<std::string> explains;  ///< entities that may be blamed
  std::vector<int> joins;             ///< nodes that are there only while it lasts
  bool ticket_expected = false;       ///< a ticket it must become, a page it must not
  bool page_expected = false;
  bool page_allowed = false;
  bool mends_itself = false;  ///< needs no repair: it clears after the injection
};

/// One plan per fault, in order. `nodes` matters with two, where peers cannot tell a node from the
/// link to it.
std::vector<Plan> plan_faults(const std::vector<Fault>& faults, int nodes);

/// "n2,n3", sorted by name as entities are.
std::string partition_entity(const std::vector<int>& side);

/// "n1<->n2", sorted by name as entities are.
std::string link_entity(int a, int b);

}  // namespace collwatch::demo
