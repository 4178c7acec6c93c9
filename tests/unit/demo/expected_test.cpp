// SPDX-License-Identifier: Apache-2.0
//
// The expectation table against design 2.7, row by row.
#include "daemon/demo/expected.h"

#include "tests/support/catch.h"

using namespace collwatch::demo;
using namespace collwatch::model;

namespace {

Plan plan_of(const std::string& spec, int nodes = 4) {
  const auto faults = parse_faults({spec}, nodes);
  REQUIRE(faults);
  return plan_faults(*faults, nodes).at(0);
}

struct Row {
  const char* spec;
  std::vector<Kind> kinds;
  const char* entity;
  Reason reason;
  Fingerprint fingerprint;
  VerdictState due;
};

const Row kRows[] = {
    {"kill:n2",
     {Kind::node},
     "n2",
     Reason::agent_down,
     Fingerprint::gloo_peer_lost,
     VerdictState::page},
    {"killworker:n2",
     {Kind::node},
     "n2",
     Reason::worker_crash,
     Fingerprint::gloo_peer_lost,
     VerdictState::suspect},
    {"stopworker:n2",
     {Kind::node},
     "n2",
     Reason::worker_stuck,
     Fingerprint::gloo_collective_timeout,
     VerdictState::suspect},
    {"stop:n2",
     {Kind::node},
     "n2",
     Reason::host_stall,
     Fingerprint::gloo_collective_timeout,
     VerdictState::page},
    {"drop:n2",
     {Kind::node},
     "n2",
     Reason::unreachable,
     Fingerprint::gloo_collective_timeout,
     VerdictState::page},
    {"linkdown:n2",
     {Kind::node},
     "n2",
     Reason::unreachable,
     Fingerprint::gloo_collective_timeout,
     VerdictState::page},
    {"egress:n2",
     {Kind::node, Kind::node_egress},
     "n2",
     Reason::unreachable,
     Fingerprint::gloo_collective_timeout,
     VerdictState::page},
    {"ingress:n2",
     {Kind::node_ingress},
     "n2",
     Reason::unreachable,
     Fingerprint::gloo_collective_timeout,
     VerdictState::page},
    {"drop:n1-n2",
     {Kind::link},
     "n1<->n2",
     Reason::unreachable,
     Fingerprint::gloo_collective_timeout,
     VerdictState::page},
    {"drop:n1>n2",
     {Kind::directed_link},
     "n1->n2",
     Reason::unreachable,
     Fingerprint::gloo_collective_timeout,
     VerdictState::page},
    {"refuse:n2",
     {Kind::node},
     "n2",
     Reason::refused,
     Fingerprint::gloo_peer_lost,
     VerdictState::page},
    {"absent:n2",
     {Kind::node},
     "n2",
     Reason::never_joined,
     Fingerprint::gloo_init_failed,
     VerdictState::page},
    {"mtu:n2",
     {Kind::node},
     "n2",
     Reason::size_blackhole,
     Fingerprint::gloo_collective_timeout,
     VerdictState::page},
    {"slow:n2", {Kind::node}, "n2", Reason::slow, Fingerprint::straggler, VerdictState::ticket},
    {"iface:n2",
     {Kind::misconfig},
     "n2",
     Reason::wrong_interface,
     Fingerprint::gloo_wrong_interface,
     VerdictState::ticket},
    {"version:n2",
     {Kind::misconfig},
     "n2",
     Reason::version_mismatch,
     Fingerprint::version_mismatch,
     VerdictState::ticket},
    {"corrupt:n2",
     {Kind::node},
     "n2",
     Reason::data_corruption,
     Fingerprint::data_corruption,
     VerdictState::page},
    {"partition:n0,n1/n2,n3",
     {Kind::partition},
     "n2,n3",
     Reason::unreachable,
     Fingerprint::gloo_collective_timeout,
     VerdictState::page},
    {"partition:n2/n0,n1,n3",
     {Kind::node},
     "n2",
     Reason::unreachable,
     Fingerprint::gloo_collective_timeout,
     VerdictState::page},
    {"clock:n2=-1h",
     {Kind::misconfig},
     "n2",
     Reason::clock_skew,
     Fingerprint::none,
     VerdictState::ticket},
};

}  // namespace

TEST_CASE("every row of the table") {
  for (const Row& row : kRows) {
    CAPTURE(row.spec);
    const Plan plan = plan_of(row.spec);
    REQUIRE(plan.expected.size() == row.kinds.size());
    for (std::size_t i = 0; i < row.kinds.size(); ++i) {
      CHECK(plan.expected[i].kind == row.kinds[i]);
      CHECK(plan.expected[i].entity == row.entity);
      CHECK(plan.expected[i].reason == row.reason);
      CHECK(plan.expected[i].state == row.due);
    }
    CHECK(plan.fingerprint == row.fingerprint);
    CHECK(plan.ticket_expected == (row.due == VerdictState::ticket));
    CHECK(plan.page_expected == (row.due == VerdictState::page));
    CHECK(plan.page_allowed == (row.due == VerdictState::page));
  }
}

TEST_CASE("links of a node with a bad path may be suspected, and nobody paged") {
  for (const char* spec : {"loss:n2=10%", "slow:n2"}) {
    const Plan plan = plan_of(spec);
    CHECK(std::count(plan.explains.begin(), plan.explains.end(), "n2<->n3") == 1);
    CHECK(std::count(plan.explains.begin(), plan.explains.end(), "n0<->n1") == 0);
    CHECK_FALSE(plan.page_allowed);
  }
}

TEST_CASE("loss may be told by its delay: either reason, one fingerprint, a ticket") {
  const Plan plan = plan_of("loss:n2=10%");
  REQUIRE(plan.expected.size() == 2);
  CHECK(plan.expected[0].reason == Reason::lossy);
  CHECK(plan.expected[1].reason == Reason::slow);
  CHECK(plan.fingerprint == Fingerprint::straggler);
  CHECK(plan.ticket_expected);
}

TEST_CASE("who is on the blamed side of a partition has no vote") {
  const Plan plan = plan_of("partition:n0,n1,n2,n3,n4/n5,n6,n7", 8);
  CHECK(plan.affected == std::vector<int>{5, 6, 7});
  CHECK(plan.explains == std::vector<std::string>{"n5,n6,n7"});
}

TEST_CASE("nodes that join have no vote, and nothing is to be said of them") {
  const Plan plan = plan_of("scale=8");
  CHECK(plan.joins == std::vector<int>{4, 5, 6, 7});
  CHECK(plan.affected == plan.joins);
  CHECK(plan.expected.empty());
}

TEST_CASE("what is to be met with silence") {
  for (const char* spec :
       {"restart:n2", "stray", "hog:n2", "scale=8", "clock:n2=+0.6s", "clock:n2=-5s"}) {
    CAPTURE(spec);
    const Plan plan = plan_of(spec);
    CHECK(plan.expected.empty());
    CHECK(plan.explains.empty());
    CHECK_FALSE(plan.page_allowed);
  }
}

TEST_CASE("who joins before the grace is over was never absent") {
  const Plan early = plan_of("absent:n1@0s+20s");
  CHECK(early.expected.empty());
  CHECK_FALSE(early.page_allowed);
  CHECK(plan_of("absent:n1@0s+40s").page_expected);
  CHECK(plan_of("absent:n1@10s+25s").page_expected);
}

TEST_CASE("a fault explains its own entity and nothing beside it") {
  CHECK(plan_of("drop:n2").explains == std::vector<std::string>{"n2"});
  CHECK(plan_of("drop:n2").affected == std::vector<int>{2});
  const Plan link = plan_of("drop:n1>n2");
  CHECK(link.affected == std::vector<int>{1, 2});
  CHECK(link.explains == std::vector<std::string>{"n1<->n2", "n1->n2", "n2->n1"});
}

TEST_CASE("the victim of a cut has something to say of itself") {
  const Plan cut = plan_of("linkdown:n1");
  REQUIRE(cut.at_victim.size() == 1);
  CHECK(cut.at_victim[0].kind == Kind::self);
  CHECK(cut.at_victim[0].reason == Reason::isolated);
  CHECK(plan_of("egress:n1").at_victim.at(0).kind == Kind::node_egress);
  CHECK(plan_of("kill:n1").at_victim.empty());
}

TEST_CASE("with two members a node and the link to it look alike") {
  const Plan plan = plan_of("stop:n1", 2);
  REQUIRE(plan.expected.size() == 2);
  CHECK(plan.expected[1].kind == Kind::link);
  CHECK(plan.expected[1].entity == "n0<->n1");
  CHECK(plan_of("kill:n1", 2).expected.size() == 1);  // refused proves itself
  CHECK(plan_of("drop:n1", 2).at_victim.empty());
}

TEST_CASE("the third death of a worker within a minute earns a page") {
  const auto faults =
      parse_faults({"killworker:n2@5s", "killworker:n2@15s", "killworker:n2@25s"}, 4);
  const auto plans = plan_faults(*faults, 4);
  CHECK_FALSE(plans[0].page_expected);
  CHECK_FALSE(plans[1].page_expected);
  CHECK(plans[2].page_expected);
  CHECK(plans[2].expected[0].state == VerdictState::page);
  const auto slow = parse_faults({"killworker:n2@5s", "killworker:n2@15s", "killworker:n2@66s"}, 4);
  CHECK_FALSE(plan_faults(*slow, 4)[2].page_expected);
}
