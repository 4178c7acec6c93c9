// SPDX-License-Identifier: Apache-2.0
//
// Which paths count as bad already, and which do not.
#include "daemon/agent/weak_paths.h"

#include "tests/support/catch.h"

namespace {

using namespace collwatch;
using agent::any_weak;
using agent::known_impaired;

std::vector<exporters::Verdict> straggling(const std::string& entity) {
  exporters::Verdict verdict;
  verdict.entity = entity;
  verdict.fingerprint = model::Fingerprint::straggler;
  return {verdict};
}

TEST_CASE("a path is known to be bad by its own verdict, or by that of either end") {
  CHECK(known_impaired(straggling("n1<->n2"), "n1", "n2"));
  CHECK(known_impaired(straggling("n1<->n2"), "n2", "n1"));
  CHECK(known_impaired(straggling("n1"), "n1", "n2"));
  CHECK(known_impaired(straggling("n2"), "n1", "n2"));
  CHECK_FALSE(known_impaired(straggling("n1<->n3"), "n1", "n2"));
  CHECK_FALSE(known_impaired(straggling("n3"), "n1", "n2"));
  CHECK_FALSE(known_impaired({}, "n1", "n2"));
  auto dead = straggling("n2");
  dead[0].fingerprint = model::Fingerprint::gloo_peer_lost;
  CHECK_FALSE(known_impaired(dead, "n1", "n2"));
}

TEST_CASE("verdicts of slow and lossy nodes and links are causes by their members") {
  const std::vector<std::string> names{"n1", "n2", "n3"};
  auto verdicts = straggling("n2");
  verdicts[0].kind = model::Kind::node;
  CHECK(agent::impaired_causes(verdicts, names) ==
        std::vector<attribute::Cause>{{model::Kind::node, 1, 1, {}}});
  verdicts = straggling("n1<->n3");
  verdicts[0].kind = model::Kind::link;
  CHECK(agent::impaired_causes(verdicts, names) ==
        std::vector<attribute::Cause>{{model::Kind::link, 0, 2, {}}});
  CHECK(agent::impaired_causes(straggling("n9"), names).empty());
  verdicts[0].fingerprint = model::Fingerprint::gloo_peer_lost;
  CHECK(agent::impaired_causes(verdicts, names).empty());
}

TEST_CASE("a path is weak where an edge fails, is late or loses more than one datagram") {
  attribute::ObserverReport report;
  report.edges.resize(2);
  attribute::EdgeWord& word = report.edges[1];
  CHECK_FALSE(any_weak({}));
  CHECK_FALSE(any_weak({report}));
  word.lost = attribute::kLossyPath - 1;
  CHECK_FALSE(any_weak({report}));
  word.lost = attribute::kLossyPath;
  CHECK(any_weak({report}));
  word.lost = -1;
  word.late_ms = 1;
  CHECK(any_weak({report}));
  word.late_ms = 0;
  word.state = attribute::EdgeState::failing;
  CHECK(any_weak({report}));
}

}  // namespace
