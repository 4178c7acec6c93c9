// SPDX-License-Identifier: Apache-2.0
//
// Builds recorded sequences of statuses for the watcher's tests, in few words.
#pragma once

#include <string>
#include <vector>

#include "daemon/demo/watch.h"
#include "tests/support/catch.h"
#include "tests/unit/demo/has.h"

namespace recorded {

using namespace collwatch;
using namespace collwatch::demo;

inline std::vector<Plan> plans(const std::vector<std::string>& specs, int nodes = 4) {
  const auto faults = parse_faults(specs, nodes);
  REQUIRE(faults);
  return plan_faults(*faults, nodes);
}

inline VerdictView verdict(model::Kind kind, const std::string& entity, model::Reason reason,
                           model::VerdictState state,
                           model::Fingerprint print = model::Fingerprint::gloo_collective_timeout) {
  return {kind, entity, reason, print, state, "{\"entity\": \"" + entity + "\"}"};
}

inline VerdictView stalled(const std::string& node, model::VerdictState state) {
  return verdict(model::Kind::node, node, model::Reason::host_stall, state);
}

/// What agent `self` of `nodes` says: every edge ok, and these verdicts.
inline AgentStatus status(int self, std::vector<VerdictView> verdicts = {}, int nodes = 4) {
  AgentStatus s;
  s.node = node_name(self);
  s.round = 100;
  for (int peer = 0; peer < nodes; ++peer) {
    if (peer != self) s.edges.push_back({node_name(peer), model::Outcome::ok, 0.0002});
  }
  s.verdicts = std::move(verdicts);
  return s;
}

/// Feeds one sample of each of `agents`, all with the same verdicts, at `at`.
inline void say(Watcher& watcher, double at, const std::vector<int>& agents,
                const std::vector<VerdictView>& verdicts = {}) {
  for (const int agent : agents) watcher.sample({at, agent, status(agent, verdicts)});
}

}  // namespace recorded
