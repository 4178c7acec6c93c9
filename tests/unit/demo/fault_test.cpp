// SPDX-License-Identifier: Apache-2.0
//
// The fault language: what parses, into what, and which sentence answers what does not.
#include "daemon/demo/fault.h"

#include "tests/support/catch.h"
#include "tests/unit/demo/has.h"

using namespace collwatch::demo;
using namespace std::chrono_literals;

namespace {

std::string complaint(const std::string& spec, int nodes = 4) {
  const auto fault = parse_fault(spec, nodes);
  return fault ? "parsed" : fault.error().text;
}

std::string ground_complaint(const std::string& spec, Ground ground) {
  const auto fault = parse_fault(spec, ground.nodes);
  REQUIRE(fault);
  const auto possible = check_ground({*fault}, ground);
  return possible ? "possible" : possible.error().text;
}

}  // namespace

TEST_CASE("a spec has a kind, a target, a start and a duration") {
  const auto fault = parse_fault("kill:n2@3s+1.5s", 4);
  REQUIRE(fault);
  CHECK(fault->kind == FaultKind::kill);
  CHECK(fault->node == 2);
  CHECK(fault->start == 3s);
  CHECK(fault->duration == 1500ms);
  CHECK(fault->spec == "kill:n2@3s+1.5s");
}

TEST_CASE("start is 10 s and nothing is repaired unless said") {
  const auto fault = parse_fault("stop:n0", 4);
  REQUIRE(fault);
  CHECK(fault->start == 10s);
  CHECK_FALSE(fault->duration);
  CHECK(parse_fault("stop:n0@250ms", 4)->start == 250ms);
  CHECK(parse_fault("stop:n0@1m+2m", 4)->duration == 2min);
}

TEST_CASE("drop takes a node, a link or a direction") {
  const auto node = parse_fault("drop:n3", 4);
  const auto link = parse_fault("drop:n3-n1", 4);
  const auto one_way = parse_fault("drop:n3>n1@5s", 4);
  REQUIRE(node);
  REQUIRE(link);
  REQUIRE(one_way);
  CHECK(node->direction == Direction::node);
  CHECK(link->direction == Direction::both_ways);
  CHECK((link->node == 1 && link->other == 3));  // sorted, as entities are
  CHECK(one_way->direction == Direction::one_way);
  CHECK((one_way->node == 3 && one_way->other == 1));  // as given: the arrow means something
}

TEST_CASE("a value may hold a plus sign") {
  const auto fault = parse_fault("clock:n2=+0.6s@10s+20s", 4);
  REQUIRE(fault);
  CHECK(fault->kind == FaultKind::clock);
  CHECK(fault->start == 10s);
  CHECK(fault->duration == 20s);
}

struct Wrong {
  const char* spec;
  const char* says;
};

const Wrong kWrong[] = {
    {"bogus:n1", "no fault is called 'bogus'"},
    {"", "no fault is called ''"},
    {"kill", "whom?"},
    {"kill:", "whom?"},
    {"kill:n4", "no node 'n4'"},
    {"kill:n02", "no node 'n02'"},
    {"kill:x", "no node 'x'"},
    {"kill:n1-n2", "takes one node, not a link"},
    {"drop:n1-n1", "two different nodes"},
    {"drop:n1-n9", "no such pair"},
    {"drop:n1>", "no such pair"},
    {"stray:n1", "takes no target"},
    {"kill:n1=3", "takes no '='"},
    {"kill:n1@", "start ''"},
    {"kill:n1@10", "start '10'"},
    {"kill:n1@-3s", "start '-3s'"},
    {"kill:n1@1.2.3s", "start '1.2.3s'"},
    {"kill:n1@10s+", "duration ''"},
    {"kill:n1@10s+0s", "duration '0s'"},
    {"kill:n1@10s+5x", "duration '5x'"},
    {"none@3s", "takes no time"},
    {"mtu:n1=x", "'x' is no packet size"},
    {"mtu:n1=20", "'20' is no packet size"},
    {"slow:n1=10", "'10' is no rate"},
    {"slow:n1=mbit", "'mbit' is no rate"},
    {"loss:n1=0%", "'0%' is no share"},
    {"loss:n1=101%", "'101%' is no share"},
    {"loss:n1=10", "'10' is no share"},
    {"clock:n1", "how wrong?"},
    {"clock:n1=+0s", "how wrong?"},
    {"clock:n1=soon", "how wrong?"},
    {"scale", "to how many nodes?"},
    {"scale=4", "to how many nodes?"},
    {"scale=9", "to how many nodes?"},
    {"scale=5.5", "to how many nodes?"},
    {"scale:n1=8", "takes no target"},
    {"partition", "whom? write partition:n0,n1/n2,n3"},
    {"partition:n0,n1", "which side is which?"},
    {"partition:n0,n1/", "which side is which?"},
    {"partition:n0,n1/n2,n9", "which side is which?"},
    {"partition:n0,n1/n1,n2,n3", "on both sides"},
    {"partition:n0,n1/n2", "every node must be on one"},
    {"hog:n1=10%", "takes no '='"},
};

TEST_CASE("every error quotes the spec and says what is wrong") {
  for (const Wrong& wrong : kWrong) {
    CAPTURE(wrong.spec);
    const std::string text = complaint(wrong.spec);
    CHECK(has(text, "fault '" + std::string(wrong.spec) + "'"));
    CHECK(has(text, wrong.says));
  }
}

TEST_CASE("without --fault node n2 is stopped, or the last one") {
  const auto four = parse_faults({}, 4);
  REQUIRE(four);
  REQUIRE(four->size() == 1);
  CHECK(four->front().spec == "stop:n2@10s+20s");
  CHECK(parse_faults({}, 2)->front().spec == "stop:n1@10s+20s");
}

TEST_CASE("none stands alone and is an empty list") {
  CHECK(parse_faults({"none"}, 4)->empty());
  CHECK_FALSE(parse_faults({"none", "kill:n1"}, 4));
  CHECK(parse_faults({"kill:n1", "stop:n2"}, 4)->size() == 2);
}

TEST_CASE("the ground decides what can be injected") {
  const Ground lab{4, true, 60s};
  const Ground loopback{4, false, 60s};
  CHECK(ground_complaint("drop:n1", lab) == "possible");
  CHECK(ground_complaint("partition:n0,n1/n2,n3", lab) == "possible");
  CHECK(has(ground_complaint("kill:n1@60s", lab), "longer --duration"));
  for (const char* spec : {"kill:n1", "killworker:n1", "stop:n1", "stopworker:n1", "restart:n1",
                           "absent:n1", "stray", "scale=8"}) {
    CHECK(ground_complaint(spec, loopback) == "possible");
  }
  for (const char* spec :
       {"drop:n1", "drop:n0-n1", "drop:n0>n1", "egress:n1", "ingress:n1", "linkdown:n1",
        "refuse:n1", "mtu:n1", "slow:n1", "loss:n1", "iface:n1", "version:n1", "corrupt:n1",
        "partition:n0,n1/n2,n3", "clock:n1=+1s", "hog:n1"}) {
    CHECK(has(ground_complaint(spec, loopback), "needs network namespaces"));
  }
}

TEST_CASE("what stands behind the equals sign, and what is meant without it") {
  const auto value = [](const std::string& spec) {
    const auto fault = parse_fault(spec, 4);
    REQUIRE(fault);
    return fault->value;
  };
  CHECK(value("mtu:n2") == 1000);
  CHECK(value("mtu:n2=1400") == 1400);
  CHECK(value("slow:n2") == 10e6);
  CHECK(value("slow:n2=2.5mbit") == 2.5e6);
  CHECK(value("slow:n2=100kbit@3s") == 100e3);
  CHECK(value("loss:n2") == Approx(0.1));
  CHECK(value("loss:n2=2.5%") == Approx(0.025));
  CHECK(value("clock:n2=+0.6s") == 600);
  CHECK(value("clock:n2=-1h") == -3600000);
  CHECK(value("clock:n2=30.5s") == 30500);
  CHECK(value("scale=8") == 8);
}

TEST_CASE("of a partition the smaller side is blamed, of equal ones that without the lowest name") {
  using Side = std::vector<int>;
  const auto equal = parse_fault("partition:n1,n0/n3,n2", 4);
  REQUIRE(equal);
  CHECK(equal->side == Side{2, 3});
  CHECK(equal->rest == Side{0, 1});
  CHECK(equal->node == -1);
  CHECK(parse_fault("partition:n2,n3/n0,n1", 4)->side == Side{2, 3});
  CHECK(parse_fault("partition:n1,n2,n3/n0", 4)->side == Side{0});
  CHECK(parse_fault("partition:n0/n1,n2,n3", 4)->node == 0);
  CHECK(parse_fault("partition:n4,n5,n6,n0,n1/n7,n2,n3", 8)->side == Side{2, 3, 7});
}

TEST_CASE("a ring that grows needs room for all") {
  CHECK(most_nodes(*parse_faults({"kill:n1"}, 4), 4) == 4);
  CHECK(most_nodes(*parse_faults({"scale=6", "scale=8@20s"}, 4), 4) == 8);
}

TEST_CASE("faults are told in words") {
  CHECK(describe(*parse_fault("stop:n2", 4)) == "n2 was stopped");
  CHECK(describe(*parse_fault("drop:n2-n1", 4)) == "the link n1<->n2 was cut");
  CHECK(describe(*parse_fault("partition:n0,n1/n2,n3", 4)) ==
        "the network was cut between n2,n3 and n0,n1");
  CHECK(describe(*parse_fault("clock:n2=-1h", 4)) == "n2's wall clock was set 3600 s back");
  CHECK(describe(*parse_fault("slow:n2=100kbit", 4)) == "n2's network was slowed to 0.1 Mbit/s");
  CHECK(describe(*parse_fault("drop:n2>n1", 4)) == "everything from n2 to n1 was dropped");
}
