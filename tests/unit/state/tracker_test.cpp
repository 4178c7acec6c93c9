// SPDX-License-Identifier: Apache-2.0
//
// How verdicts of the tracker rise: evidence, reasons, worker episodes, refinement, better names.
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

TEST_CASE("a node whose datagrams still arrive pages after five failing rounds in a row") {
  const Failure lossy{Outcome::timeout, Heard::heard, Reason::host_stall};
  Bench bench;
  bench.node_fails(2, lossy, 4);
  CHECK(bench.only().state == VerdictState::suspect);
  bench.node_fails(2, lossy, 1);
  CHECK(bench.only().state == VerdictState::page);
}

TEST_CASE("large payloads that fail are a page after three rounds in a row, not two") {
  // Of twenty packets one is lost at 5 %: most large payloads fail there, and now and then all do.
  const Failure sized{Outcome::timeout, Heard::heard, Reason::size_blackhole};
  Bench bench;
  bench.node_fails(2, sized, 2);
  CHECK(bench.only().state == VerdictState::suspect);
  bench.node_fails(2, sized, 1);
  CHECK(bench.only().state == VerdictState::page);
}

TEST_CASE("a node is suspected in the first round and paged in the second") {
  Bench bench;
  bench.node_fails(2, kUnreachable, 1);
  CHECK(bench.only().state == VerdictState::suspect);
  CHECK(bench.only().entity == "n2");
  CHECK(bench.only().kind == Kind::node);
  CHECK(bench.only().view == model::View::direct);
  CHECK(bench.only().confidence == model::Confidence::low);
  CHECK(bench.only().observers == Texts{"n0", "n1", "n3"});
  CHECK(bench.only().fingerprint == Fingerprint::gloo_collective_timeout);
  bench.node_fails(2, kUnreachable, 1);
  CHECK(bench.only().state == VerdictState::page);
  bench.node_fails(2, kUnreachable, 2);
  CHECK(bench.only().confidence == model::Confidence::high);
  CHECK(bench.take_events() == Texts{"suspect n2", "page n2"});
}

TEST_CASE("one round pages nobody, however often it is judged, and rare rounds do not add up") {
  Bench bench(8);
  for (int i = 0; i < 5; ++i) {
    bench.node_fails(2, kUnreachable, 1);
    CHECK(bench.only().state == VerdictState::suspect);
    bench.ok(6);
  }
  bench.ok(10);
  CHECK(bench.verdicts().empty());
}

TEST_CASE("rounds that others tell of afterwards do not page at once") {
  Bench bench;
  bench.fails(1, [](EvidenceBuilder& world, Failure f) {
    f.rounds = 5;
    world.all_complain_of(2, f).unheard(2);
    world.evidence().round = f.since + 4;
  });
  CHECK(bench.only().state == VerdictState::suspect);
}

TEST_CASE("a page waits for the reason, but not beyond the third round") {
  Bench bench;
  const Failure unknown{Outcome::timeout, Heard::silent, {}};
  bench.node_fails(2, unknown, 2);
  CHECK(bench.only().state == VerdictState::suspect);
  bench.node_fails(2, unknown, 1);
  CHECK(bench.only().state == VerdictState::page);
}

TEST_CASE("a worker crash is a suspect but the third within a minute is a page") {
  Bench bench;
  bench.node_fails(2, kCrash, 1);
  CHECK(bench.only().state == VerdictState::suspect);
  CHECK(bench.only().reason == Reason::worker_crash);
  CHECK(bench.only().fingerprint == Fingerprint::gloo_peer_lost);
  bench.ok(15);
  CHECK(bench.verdicts().empty());
  bench.node_fails(2, kCrash, 2);
  CHECK(bench.only().state == VerdictState::suspect);
  bench.ok(15);
  bench.node_fails(2, kCrash, 1);
  CHECK(bench.only().state == VerdictState::page);
}

TEST_CASE("three worker crashes over more than a minute page nobody") {
  Bench bench;
  for (int i = 0; i < 4; ++i) {
    bench.node_fails(2, kCrash, 1);
    CHECK(bench.only().state == VerdictState::suspect);
    bench.ok(35);
  }
}

TEST_CASE("a worker that stays stuck for more than 20 s is a page") {
  Bench bench;
  const Failure stuck{Outcome::timeout, Heard::heard, Reason::worker_stuck};
  bench.node_fails(2, stuck, 20);
  CHECK(bench.only().state == VerdictState::suspect);
  bench.node_fails(2, stuck, 2);
  CHECK(bench.only().state == VerdictState::page);
  CHECK(bench.only().fingerprint == Fingerprint::gloo_collective_timeout);
}

TEST_CASE("a stuck worker stays stuck while its daemon kills and respawns it") {
  Bench bench;
  bench.node_fails(2, {Outcome::timeout, Heard::heard, Reason::worker_stuck}, 2);
  bench.node_fails(2, kCrash, 1);
  CHECK(bench.only().reason == Reason::worker_stuck);
}

TEST_CASE("a host that dies of what killed its worker is paged all the same") {
  Bench bench;
  bench.node_fails(2, kCrash, 4);
  CHECK(bench.only().state == VerdictState::suspect);
  bench.node_fails(2, {Outcome::timeout, Heard::silent, Reason::host_stall}, 4);
  CHECK(bench.only().state == VerdictState::page);
  CHECK(bench.only().reason == Reason::host_stall);
}

TEST_CASE("a fault after an old worker crash is judged for itself") {
  Bench bench;
  bench.node_fails(2, kCrash, 1);
  bench.ok(4);
  bench.node_fails(2, kUnreachable, 2);
  CHECK(bench.only().state == VerdictState::page);
  CHECK(bench.only().reason == Reason::unreachable);
}

TEST_CASE("kind and reason are refined early, then kept, as is the fingerprint of a page") {
  Bench bench;
  bench.node_fails(2, {Outcome::peer_lost, Heard::unknown, Reason::refused}, 2);
  CHECK(bench.only().state == VerdictState::page);
  CHECK(bench.only().fingerprint == Fingerprint::gloo_peer_lost);
  bench.node_fails(2, {Outcome::peer_lost, Heard::unknown, Reason::agent_down}, 2);
  CHECK(bench.only().reason == Reason::agent_down);
  bench.node_fails(2, kUnreachable, 5);
  CHECK(bench.only().reason == Reason::agent_down);
  CHECK(bench.only().fingerprint == Fingerprint::gloo_peer_lost);
}

TEST_CASE("a link that turns out to be a node is withdrawn without a page") {
  Bench bench;
  bench.fails(1, [](EvidenceBuilder& world, const Failure& f) { world.broken(0, 2, f); });
  CHECK(bench.only().entity == "n0<->n2");
  bench.node_fails(2, kUnreachable, 1);
  CHECK(bench.only().entity == "n2");
  CHECK(bench.take_events() == Texts{"suspect n0<->n2", "cleared n0<->n2", "suspect n2"});
}

TEST_CASE("stragglers of a recovering verdict are not accused, until they stay") {
  Bench bench;
  bench.node_fails(2, kUnreachable, 3);
  const auto straggle = [](EvidenceBuilder& world, const Failure& f) {
    world.broken(1, 2, f);
    for (auto& report : world.evidence().reports) {
      for (auto& word : report.edges) word.ok_rounds = std::min(word.ok_rounds, 3);
    }
  };
  bench.fails(7, straggle);
  CHECK(bench.only().entity == "n2");
  bench.fails(3, straggle);
  CHECK(bench.verdicts().size() == 2);
}

TEST_CASE("a node that has just joined is not accused yet, save of wrong bytes") {
  const auto joins_and_fails = [](Outcome outcome, bool towards_all) {
    Bench bench;
    int round = 0;
    bench.fails(3, [&](EvidenceBuilder& world, Failure f) {
      f.outcome = outcome;
      world.evidence().expected[2] = ++round > 1;
      if (round == 1) return;
      if (towards_all) world.all_complain_of(2, f).unheard(2);
      if (!towards_all) world.broken(1, 2, f);
    });
    return bench.verdicts().size();
  };
  CHECK(joins_and_fails(Outcome::timeout, true) == 0);
  CHECK(joins_and_fails(Outcome::data_corruption, true) == 1);
  CHECK(joins_and_fails(Outcome::data_corruption, false) == 0);  // the others will follow
}

TEST_CASE("links page when both ends are known to work elsewhere") {
  Bench bench;
  const auto broken = [](EvidenceBuilder& world, const Failure& f) { world.broken(1, 2, f); };
  bench.fails(1, broken);
  CHECK(bench.only().state == VerdictState::suspect);
  CHECK(bench.only().view == model::View::heard);
  bench.fails(1, broken);
  CHECK(bench.only().state == VerdictState::suspect);
  bench.fails(1, broken);
  CHECK(bench.only().state == VerdictState::page);
}

TEST_CASE("the isolated say so, at once and alone") {
  Bench bench;
  const auto isolated = [](EvidenceBuilder& world, Failure f) {
    f.inbound = Heard::silent;
    world.complains_of_all(0, f).unheard(1).unheard(2).unheard(3);
  };
  bench.fails(1, isolated);
  CHECK(bench.only().kind == Kind::self);
  CHECK(bench.only().entity == "n0");
  CHECK(bench.only().reason == Reason::isolated);
  bench.fails(2, isolated);
  CHECK(bench.only().state == VerdictState::page);
  CHECK(bench.only().fingerprint == Fingerprint::gloo_collective_timeout);
}

TEST_CASE("the isolated take back what they suspected on the way") {
  Bench bench;
  // n2 seems to fail while n1's words still arrive; then there is nobody left to hear.
  bench.fails(1, [](EvidenceBuilder& world, const Failure& f) {
    world.fails(0, 2, f).fails(1, 2, f).unheard(2).stale(3, f.since - 1);
  });
  CHECK(bench.only().entity == "n2");
  bench.fails(1, [](EvidenceBuilder& world, Failure f) {
    f.inbound = Heard::silent;
    world.complains_of_all(0, f).fails(1, 2, f).unheard(2).unheard(3).stale(1, f.since);
    world.word(1, 2).round = f.since;
  });
  CHECK(bench.only().kind == Kind::self);
}

TEST_CASE("the page threshold grows with the logarithm of the cluster") {
  CHECK(state::page_threshold(64, 1.0) == Approx(17.8).margin(0.1));
  CHECK(state::page_threshold(1024, 1.0) == Approx(20.6).margin(0.1));
  CHECK(state::page_threshold(4, 1.0) < state::page_threshold(8, 1.0));
  CHECK(state::page_threshold(4, 10.0) < state::page_threshold(4, 1.0));
}

/// All but one complain of n7: that one has reached it since.
void most_complain(EvidenceBuilder& world, const Failure& f) {
  world.all_complain_of(7, f).unheard(7);
  EdgeWord& word = world.word(6, 7);
  word.state = EdgeState::ok;
  word.round = f.since;
  word.inbound = Heard::heard;
}

TEST_CASE("a node that somebody has reached since is not paged yet") {
  Bench bench(8);
  bench.fails(3, most_complain);
  CHECK(bench.only().entity == "n7");
  CHECK(bench.only().state == VerdictState::suspect);
  bench.fails(1, most_complain);
  CHECK(bench.only().state == VerdictState::page);
}

TEST_CASE("what is no longer explained when its page is due is not paged") {
  Bench bench(8);
  bench.fails(3, most_complain);
  CHECK(bench.only().state == VerdictState::suspect);
  bench.fails(1, [](EvidenceBuilder& world, const Failure& f) {
    most_complain(world, f);
    for (Member m = 0; m < 8; ++m) world.unheard(m);
  });
  CHECK(bench.only().state == VerdictState::suspect);
}

}  // namespace
