// SPDX-License-Identifier: Apache-2.0
//
// What the cover makes of single snapshots of evidence. How it unfolds in time, with every fault
// and at every agent, is tests/unit/state/world_test.cpp.
#include "daemon/attribute/explain.h"

#include <algorithm>

#include "tests/support/catch.h"
#include "tests/unit/attribute/evidence_builder.h"

namespace {

using namespace collwatch;
using namespace collwatch::tests;
using attribute::Cause;
using attribute::explain;
using attribute::Explanation;
using model::Kind;
using model::Outcome;
using model::Reason;

/// "node 2; link 0 1" in the order given.
std::string text(const std::vector<Explanation>& explanations) {
  std::string all;
  for (const Explanation& e : explanations) {
    if (!all.empty()) all += "; ";
    all += std::string(model::name(e.cause.kind)) + " " + std::to_string(e.cause.a);
    if (e.cause.kind == Kind::link || e.cause.kind == Kind::directed_link) {
      all += " " + std::to_string(e.cause.b);
    }
  }
  return all;
}

const Failure kSilent{Outcome::timeout, Heard::silent, Reason::unreachable};
const Failure kHeard{Outcome::timeout, Heard::heard, Reason::unreachable};

TEST_CASE("nothing fails, nothing is explained") {
  CHECK(explain(EvidenceBuilder(4, 0).evidence()).empty());
  CHECK(explain(Evidence{}).empty());
}

TEST_CASE("a node that all its peers lose is that node, whoever judges") {
  for (const Member self : {0U, 1U, 3U}) {
    EvidenceBuilder world(4, self);
    world.all_complain_of(2, kSilent).unheard(2);
    const auto found = explain(world.evidence());
    REQUIRE(text(found) == "node 2");
    CHECK(found[0].observers == std::vector<Member>{0, 1, 3});
    CHECK(found[0].view == model::View::direct);
    CHECK(found[0].reason == Reason::unreachable);
    CHECK(found[0].reason_known);
    CHECK(found[0].failed_rounds == 1);
    CHECK(found[0].first_failed == 100);
    CHECK(found[0].confirmed);
  }
}

TEST_CASE("a node needs two failing peers, unless it proves itself") {
  EvidenceBuilder world(4, 0, 101);
  world.fails(0, 2, {Outcome::timeout, Heard::unknown, {}, 100, 1}).unheard(2);
  world.word(1, 2).state = EdgeState::unknown;
  world.word(3, 2).state = EdgeState::unknown;
  CHECK(text(explain(world.evidence())) == "link 0 2");

  for (const Reason reason :
       {Reason::agent_down, Reason::refused, Reason::worker_crash, Reason::worker_stuck}) {
    world.word(0, 2).reason = reason;
    CHECK(text(explain(world.evidence())) == "node 2");
  }
  world.word(0, 2).reason.reset();
  world.word(0, 2).outcome = Outcome::refused;
  CHECK(text(explain(world.evidence())) == "node 2");
}

TEST_CASE("two members cannot tell a node from a link, unless the other side answers") {
  EvidenceBuilder world(2, 0);
  world.fails(0, 1, {Outcome::timeout, Heard::silent, Reason::unreachable}).unheard(1);
  const auto found = explain(world.evidence());
  REQUIRE(text(found) == "link 0 1");
  const auto& rivals = found[0].ambiguous_with;
  CHECK(std::count(rivals.begin(), rivals.end(), Cause{Kind::node, 0, 0, {}}) == 1);
  CHECK(std::count(rivals.begin(), rivals.end(), Cause{Kind::node, 1, 1, {}}) == 1);

  world.word(0, 1).reason = Reason::host_stall;
  CHECK(text(explain(world.evidence())) == "node 1");
}

TEST_CASE("a link is named at once only when both ends have spoken and work elsewhere") {
  EvidenceBuilder both(4, 2);
  both.broken(0, 1, kSilent);
  CHECK(text(explain(both.evidence())) == "link 0 1");

  EvidenceBuilder one_end(4, 0);
  one_end.fails(0, 1, {}).unheard(1);
  CHECK(explain(one_end.evidence()).empty());
  one_end.evidence().round = 101;
  CHECK(text(explain(one_end.evidence())) == "link 0 1");

  // Resets come at any time of a round: the oks may be from before.
  EvidenceBuilder reset(4, 2);
  reset.broken(0, 1, {Outcome::peer_lost, Heard::unknown, {}});
  CHECK(explain(reset.evidence()).empty());
}

TEST_CASE("an ok from before the failures contradicts nothing") {
  EvidenceBuilder world(4, 0);
  world.fails(0, 2, {}).fails(1, 2, {}).unheard(2).stale(3, 99);
  CHECK(text(explain(world.evidence())) == "node 2");
  // One of the same round might: wait for the next.
  EvidenceBuilder fresh(4, 0);
  fresh.fails(0, 2, {}).fails(1, 2, {}).unheard(2);
  CHECK(explain(fresh.evidence()).empty());
}

TEST_CASE("later oks turn a node into its links") {
  EvidenceBuilder world(4, 3, 102);
  const Failure since{Outcome::timeout, Heard::silent, Reason::unreachable, 100, 3};
  world.broken(0, 2, since).broken(1, 2, since);
  CHECK(text(explain(world.evidence())) == "link 0 2; link 1 2");
}

TEST_CASE("a node that is heard, says it is well and answers nobody has a stuck worker") {
  const Failure twice{Outcome::timeout, Heard::heard, {}, 99, 2};
  EvidenceBuilder early(4, 0);
  early.all_complain_of(2, twice).complains_of_all(2, twice);
  CHECK(text(explain(early.evidence())) == "node 2");
  CHECK_FALSE(explain(early.evidence()).at(0).reason_known);
  const Failure again{Outcome::timeout, Heard::heard, {}, 98, 3};
  EvidenceBuilder late(4, 0);
  late.all_complain_of(2, again).complains_of_all(2, again);
  CHECK(explain(late.evidence()).at(0).reason_known);
  CHECK(explain(late.evidence()).at(0).reason == model::Reason::worker_stuck);
}

TEST_CASE("a path that swallows large packets is ok wherever the payload was small") {
  const Failure large{Outcome::timeout, Heard::heard, model::Reason::size_blackhole, 98, 2};
  EvidenceBuilder world(4, 0);
  world.broken(0, 2, large).broken(1, 2, large);  // the turn of n3's large payloads is to come
  CHECK(text(explain(world.evidence())) == "node 2");
}

TEST_CASE("directions come from the ears of both ends") {
  EvidenceBuilder one_way(4, 2);
  one_way.fails(0, 1, kHeard).fails(1, 0, kSilent);
  CHECK(text(explain(one_way.evidence())) == "directed_link 0 1");
  EvidenceBuilder both_ways(4, 2);
  both_ways.broken(0, 1, kSilent);
  CHECK(text(explain(both_ways.evidence())) == "link 0 1");
  // Where datagrams pass both ways an exchange that failed once may have lost a packet.
  EvidenceBuilder neither(4, 2);
  neither.broken(0, 1, {Outcome::timeout, Heard::heard, {}});
  CHECK(text(explain(neither.evidence())).empty());
  neither.broken(0, 1, {Outcome::timeout, Heard::heard, {}, 96, 5});
  CHECK(text(explain(neither.evidence())) == "link 0 1");
  CHECK(explain(neither.evidence()).at(0).alive);

  EvidenceBuilder ingress(4, 0);
  ingress.all_complain_of(2, kHeard).complains_of_all(2, kSilent);
  CHECK(text(explain(ingress.evidence())) == "node_ingress 2");
  EvidenceBuilder egress(4, 2);
  egress.all_complain_of(2, kSilent).complains_of_all(2, kHeard);
  CHECK(text(explain(egress.evidence())) == "node_egress 2");
  EvidenceBuilder worker(4, 0);
  worker.all_complain_of(2, {Outcome::timeout, Heard::heard, Reason::worker_stuck});
  CHECK(text(explain(worker.evidence())) == "node 2");
}

TEST_CASE("whoever hears nobody says only that it is cut off") {
  EvidenceBuilder world(4, 2);
  world.complains_of_all(2, kSilent).unheard(0).unheard(1).unheard(3);
  const auto found = explain(world.evidence());
  REQUIRE(text(found) == "self 2");
  CHECK(found[0].reason == Reason::isolated);
  // An answer from outside is proof of a way out.
  world.complains_of_all(2, {Outcome::refused, Heard::silent, Reason::agent_down});
  CHECK(text(explain(world.evidence())).rfind("self", 0) != 0);
}

TEST_CASE("sick observers weigh little, muted ones nothing") {
  EvidenceBuilder world(4, 1, 101);
  world.fails(0, 2, {}).unheard(2).health(0, 6);
  CHECK(explain(world.evidence()).empty());
  world.health(0, 1);
  CHECK(explain(world.evidence()).empty());  // one round of half a word
  world.word(0, 2).failed_rounds = 2;
  world.word(0, 2).round = 101;
  CHECK(explain(world.evidence()).size() == 1);
  world.health(1, 8);  // the judge itself
  CHECK(explain(world.evidence()).empty());
}

TEST_CASE("too little processor time excuses a timeout for a while, and nothing else") {
  const auto says_late = [](Member late, const Failure& how) {
    EvidenceBuilder world(4, 1, how.since + how.rounds);
    world.all_complain_of(2, how).complains_of_all(2, how);
    for (auto& report : world.evidence().reports) report.late = report.observer == late;
    return explain(world.evidence());
  };
  const Failure heard{Outcome::timeout, Heard::heard, std::nullopt, 100, 2};
  CHECK(says_late(2, heard).empty());
  CHECK(says_late(3, heard).size() == 1);  // somebody else's lack of time
  Failure how = heard;
  how.rounds = 4;  // for too long
  CHECK(says_late(2, how).size() == 1);
  how = heard;
  how.inbound = Heard::silent;
  CHECK(says_late(2, how).size() == 1);
  how = heard;
  how.outcome = Outcome::peer_lost;
  CHECK(says_late(2, how).size() == 1);
  how = heard;
  how.reason = Reason::worker_stuck;
  CHECK(says_late(2, how).size() == 1);
}

TEST_CASE("a link of which one end is still heard may be no more than lossy") {
  EvidenceBuilder world(4, 0, 104);
  world.broken(1, 2, {Outcome::timeout, Heard::silent, std::nullopt, 100, 2});
  CHECK_FALSE(explain(world.evidence()).at(0).alive);
  world.word(2, 1).inbound = Heard::heard;
  for (const Explanation& e : explain(world.evidence())) {
    CHECK((e.cause.kind == Kind::directed_link) != e.alive);
  }
}

TEST_CASE("a node is taken for alive while three quarters of its edges pass datagrams") {
  const Failure heard{Outcome::timeout, Heard::heard, std::nullopt, 100, 2};
  EvidenceBuilder world(8, 0, 102);
  world.all_complain_of(2, heard).complains_of_all(2, heard);
  CHECK(explain(world.evidence()).at(0).alive);
  // 14 ears: up to three that miss two in a row are chance.
  for (const Member ear : {0U, 1U}) world.word(ear, 2).inbound = Heard::silent;
  world.word(2, 3).inbound = Heard::silent;
  REQUIRE(text(explain(world.evidence())) == "node 2");
  CHECK(explain(world.evidence()).at(0).alive);
  world.word(2, 4).inbound = Heard::silent;
  REQUIRE(text(explain(world.evidence())) == "node 2");
  CHECK_FALSE(explain(world.evidence()).at(0).alive);
}

TEST_CASE("a node known to be lossy may fail on all its edges for a while, unless it falls silent") {
  EvidenceBuilder world(4, 0, 106);
  const Failure heard{Outcome::timeout, Heard::heard, Reason::unreachable, 100, 6};
  world.all_complain_of(2, heard).complains_of_all(2, heard);
  CHECK(explain(world.evidence()).size() == 1);
  world.evidence().known_impaired = {{Kind::node, 2, 2, {}}};
  CHECK(explain(world.evidence()).empty());
  world.all_complain_of(2, {Outcome::timeout, Heard::silent, Reason::unreachable, 100, 6});
  CHECK(text(explain(world.evidence())).find(" 2") != std::string::npos);
  world.evidence().known_impaired = {{Kind::link, 1, 2, {}}};
  world.all_complain_of(2, heard).complains_of_all(2, heard);
  CHECK(explain(world.evidence()).size() == 1);  // the other edges of it fail as well
}

TEST_CASE("on a path that loses packets large payloads may fail for ever") {
  EvidenceBuilder world(4, 0, 160);
  const Failure sized{Outcome::timeout, Heard::heard, Reason::size_blackhole, 100, 60};
  world.all_complain_of(2, sized).unheard(2);
  CHECK(explain(world.evidence()).size() == 1);
  world.word(0, 2).lost = 1;
  CHECK(explain(world.evidence()).size() == 1);
  world.word(1, 2).lost = 1;
  CHECK(explain(world.evidence()).empty());
}

TEST_CASE("members that take no part are no evidence") {
  EvidenceBuilder world(4, 0, 102);
  world.all_complain_of(2, kSilent).complains_of_all(3, kSilent);
  world.evidence().expected[2] = false;
  world.evidence().expected[3] = false;
  CHECK(explain(world.evidence()).empty());
}

TEST_CASE("the accused's own daemon knows the reason best, else the majority") {
  EvidenceBuilder world(4, 0);
  world.fails(0, 2, {Outcome::peer_lost, Heard::heard, Reason::worker_crash});
  world.fails(1, 2, kHeard).fails(3, 2, kHeard);
  auto found = explain(world.evidence());
  REQUIRE(text(found) == "node 2");
  CHECK(found[0].reason == Reason::worker_crash);
  CHECK(found[0].outcome == Outcome::timeout);

  world.word(0, 2).reason = Reason::host_stall;
  found = explain(world.evidence());
  CHECK(found.at(0).reason == Reason::unreachable);

  EvidenceBuilder own(4, 0);
  own.complains_of_all(2, {Outcome::worker_stuck, Heard::unknown, {}});
  found = explain(own.evidence());
  REQUIRE(text(found) == "node 2");
  CHECK(found[0].reason == Reason::worker_stuck);
  CHECK(found[0].view == model::View::heard);
}

TEST_CASE("several faults are told apart") {
  const Failure since{Outcome::timeout, Heard::silent, Reason::unreachable, 100, 2};
  EvidenceBuilder nodes(8, 0, 101);
  nodes.all_complain_of(6, since).all_complain_of(7, since).unheard(6).unheard(7);
  CHECK(text(explain(nodes.evidence())) == "node 6; node 7");

  EvidenceBuilder mixed(8, 0, 101);
  mixed.all_complain_of(7, since).unheard(7).broken(1, 2, since);
  CHECK(text(explain(mixed.evidence())) == "node 7; link 1 2");

  EvidenceBuilder links(8, 0, 101);
  links.broken(1, 2, since).broken(3, 4, since).broken(5, 6, since);
  CHECK(explain(links.evidence()).size() == 3);
}

TEST_CASE("a standing verdict is not made bigger by a second fault") {
  // Link 0-2 has been down for long; now 1-2 fails too, judged from 1, which no longer hears 2.
  EvidenceBuilder world(4, 1, 151);
  const Failure old{Outcome::timeout, Heard::silent, Reason::unreachable, 100, 52};
  const Failure fresh{Outcome::timeout, Heard::silent, Reason::unreachable, 150, 2};
  world.fails(0, 2, old).fails(1, 2, fresh).unheard(2).stale(3, 150);
  attribute::Parameters parameters;
  CHECK(text(explain(world.evidence(), parameters)) == "node 2");
  parameters.standing = {{Kind::link, 0, 2, {}}};
  CHECK(text(explain(world.evidence(), parameters)) == "link 0 2; link 1 2");
}

TEST_CASE("pages wait for what is not yet sure to be all of it") {
  const Failure since{Outcome::timeout, Heard::silent, Reason::unreachable, 100, 1};
  EvidenceBuilder link(4, 2);
  link.broken(0, 1, since);
  CHECK_FALSE(explain(link.evidence()).at(0).confirmed);
  EvidenceBuilder later(4, 2, 101);
  later.broken(0, 1, since);
  CHECK(explain(later.evidence()).at(0).confirmed);
  EvidenceBuilder node(8, 0, 101);
  node.all_complain_of(7, since).unheard(7);
  node.word(6, 7).state = EdgeState::ok;
  node.word(6, 7).round = 100;
  CHECK_FALSE(explain(node.evidence()).at(0).confirmed);
}

TEST_CASE("alone in failing: my edges fail, my peers agree among themselves") {
  EvidenceBuilder world(4, 0);
  world.fails(0, 1, {}).fails(0, 2, {});
  CHECK(attribute::alone_in_failing(world.evidence()));
  world.broken(1, 2, {});
  CHECK_FALSE(attribute::alone_in_failing(world.evidence()));
  EvidenceBuilder one(8, 0);
  one.fails(0, 1, {});
  CHECK_FALSE(attribute::alone_in_failing(one.evidence()));
  one.fails(0, 2, {});
  CHECK_FALSE(attribute::alone_in_failing(one.evidence()));  // 2 of 7
}

}  // namespace
