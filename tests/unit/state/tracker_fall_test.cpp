// SPDX-License-Identifier: Apache-2.0
//
// How verdicts of the tracker fall, and what else it keeps: claims, member lists, order.
#include <algorithm>

#include "tests/unit/state/tracker_bench.h"

namespace {

using namespace collwatch;
using namespace collwatch::tests;
using model::Fingerprint;
using model::Kind;
using model::Outcome;
using model::Reason;
using model::VerdictState;

TEST_CASE("a verdict clears after ten ok rounds of every edge that accused, not before") {
  Bench bench;
  bench.node_fails(2, kUnreachable, 3);
  bench.take_events();
  bench.ok(9);
  CHECK(bench.only().state == VerdictState::page);
  bench.ok(1);
  CHECK(bench.verdicts().empty());
  CHECK(bench.take_events() == Texts{"cleared n2"});
}

TEST_CASE("flapping holds a verdict") {
  Bench bench;
  bench.node_fails(2, kUnreachable, 2);
  for (int i = 0; i < 4; ++i) {
    bench.ok(9);
    bench.node_fails(2, kUnreachable, 1);
    CHECK(bench.only().state == VerdictState::page);
  }
  CHECK(bench.take_events() == Texts{"suspect n2", "page n2"});
}

TEST_CASE("silence clears nothing") {
  Bench bench;
  bench.node_fails(2, kUnreachable, 2);
  for (int i = 0; i < 40; ++i) {
    EvidenceBuilder world(4, 0, bench.round() + i + 1);
    for (const Member m : {0U, 1U, 2U, 3U}) world.unheard(m);
    bench.feed(world.evidence());
  }
  CHECK(bench.only().state == VerdictState::page);
}

TEST_CASE("an accuser that fell silent holds its verdict, even if all others are content") {
  Bench bench;
  bench.node_fails(2, kUnreachable, 2);
  const auto later = [&bench](int rounds, bool heard) {
    EvidenceBuilder world(4, 0, bench.round() + rounds);
    if (!heard) {
      world.unheard(1);
      world.word(2, 1).state = EdgeState::unknown;
    }
    bench.feed(world.evidence());
  };
  later(20, false);
  CHECK(bench.only().state == VerdictState::page);
  later(21, true);
  CHECK(bench.verdicts().empty());
}

TEST_CASE("a member that left is cleared at once") {
  Bench bench;
  bench.node_fails(2, kUnreachable, 2);
  EvidenceBuilder world(4, 0, bench.round() + 1);
  world.all_complain_of(2, kUnreachable).unheard(2);
  world.evidence().expected[2] = false;
  bench.feed(world.evidence());
  CHECK(bench.verdicts().empty());
}

TEST_CASE("claims rise to their own ceiling in two rounds and fall ten rounds after") {
  Bench bench;
  const state::Claim skew{Kind::misconfig,      "n3", Reason::clock_skew, Fingerprint::none,
                          VerdictState::ticket, true};
  const state::Claim absent{Kind::node,           "n9",
                            Reason::never_joined, Fingerprint::gloo_init_failed,
                            VerdictState::page,   true};
  bench.ok(1, {skew, absent});
  REQUIRE(bench.verdicts().size() == 2);
  CHECK(bench.verdicts()[0].state == VerdictState::suspect);
  bench.ok(1, {skew, absent});
  CHECK(bench.verdicts()[0].state == VerdictState::page);
  CHECK(bench.verdicts()[0].fingerprint == Fingerprint::gloo_init_failed);
  CHECK(bench.verdicts()[1].state == VerdictState::ticket);
  state::Claim over = skew;
  over.active = false;
  bench.ok(9, {over});
  CHECK(bench.verdicts().size() == 2);
  bench.ok(1);
  CHECK(bench.verdicts().empty());
}

TEST_CASE("what a claim and the edges name alike is one verdict") {
  const state::Claim claim{Kind::node,           "n2",
                           Reason::data_corruption, Fingerprint::data_corruption,
                           VerdictState::suspect, true};
  const Failure corrupt{Outcome::data_corruption, Heard::heard, Reason::data_corruption};
  Bench claimed_first;
  claimed_first.ok(1, {claim});
  CHECK(claimed_first.only().state == VerdictState::suspect);
  claimed_first.node_fails(2, corrupt, 3);
  CHECK(claimed_first.only().state == VerdictState::page);
  Bench seen_first;
  seen_first.node_fails(2, corrupt, 3);
  seen_first.take_events();
  seen_first.ok(1, {claim});
  CHECK(seen_first.only().state == VerdictState::page);
  CHECK(seen_first.take_events().empty());
}

TEST_CASE("a changed member list keeps what still exists, under its new index") {
  Bench bench;
  bench.node_fails(2, kUnreachable, 2);
  bench.take_events();
  bench.tracker().set_members({"a0", "n0", "n1", "n2"}, state::page_threshold(4, 1.0));
  REQUIRE(bench.tracker().standing().size() == 1);
  CHECK(bench.tracker().standing()[0].a == 3);
  bench.tracker().set_members({"a0", "n0", "n1"}, state::page_threshold(3, 1.0));
  CHECK(bench.tracker().standing().empty());
  bench.ok(1);
  CHECK(bench.take_events() == Texts{"cleared n2"});
}

TEST_CASE("the worst come first, and no more than allowed") {
  state::Limits limits;
  limits.max_verdicts = 2;
  Bench bench(8, limits);
  bench.node_fails(7, kUnreachable, 2);
  bench.fails(2, [](EvidenceBuilder& world, const Failure& f) {
    world.all_complain_of(7, f).unheard(7);
    Failure late = f;
    late.since = f.since + f.rounds - 1;
    late.rounds = 1;
    world.broken(1, 2, late).broken(3, 4, late);
  });
  REQUIRE(bench.verdicts().size() == 2);
  CHECK(bench.verdicts()[0].entity == "n7");
  CHECK(bench.verdicts()[0].state == VerdictState::page);
}

}  // namespace
