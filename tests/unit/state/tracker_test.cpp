// SPDX-License-Identifier: Apache-2.0
//
// The tracker's rules one by one: rise, worker episodes, refinement, fall, claims, changed members.
// Explanations come from the real explain(); time is a number.
#include "daemon/state/tracker.h"

#include <algorithm>

#include "daemon/attribute/explain.h"
#include "tests/support/catch.h"
#include "tests/unit/attribute/evidence_builder.h"

namespace {

using namespace collwatch;
using namespace collwatch::tests;
using model::Fingerprint;
using model::Kind;
using model::Outcome;
using model::Reason;
using model::VerdictState;

const Failure kUnreachable{Outcome::timeout, Heard::silent, Reason::unreachable};
const Failure kCrash{Outcome::peer_lost, Heard::heard, Reason::worker_crash};

/// A tracker at n0 of four, fed round by round (tick at the round's end, one second each).
class Bench {
 public:
  explicit Bench(std::uint32_t members = 4, state::Limits limits = {})
      : members_(members), tracker_(names(members), state::page_threshold(members, 1.0), limits) {
    ok(3);  // what began before it met them it would not judge
  }

  static std::vector<std::string> names(std::uint32_t members) {
    std::vector<std::string> all;
    for (std::uint32_t i = 0; i < members; ++i) all.push_back("n" + std::to_string(i));
    return all;
  }

  void feed(Evidence& evidence, const std::vector<state::Claim>& claims = {}) {
    attribute::Parameters parameters;
    parameters.standing = tracker_.standing();
    const state::Moment now{
        evidence.round, static_cast<double>(evidence.round),
        exporters::WallTime(std::chrono::seconds(1'700'000'000 + evidence.round))};
    step_ = tracker_.update(now, evidence, attribute::explain(evidence, parameters), claims);
    for (const auto& event : step_.events) {
      events_.push_back(event.state + " " + (event.verdict ? event.verdict->entity : ""));
    }
  }

  /// So many rounds in which everybody is well.
  void ok(int rounds, const std::vector<state::Claim>& claims = {}) {
    for (int i = 0; i < rounds; ++i) {
      ++round_;
      ++ok_run_;
      EvidenceBuilder world(members_, 0, round_);
      for (auto& report : world.evidence().reports) {
        for (auto& word : report.edges) word.ok_rounds = ok_run_;
      }
      feed(world.evidence(), claims);
    }
  }

  /// So many rounds in which all complain of `n`.
  void node_fails(Member n, const Failure& how, int rounds) {
    fails(rounds, [n, how](EvidenceBuilder& world, Failure f) {
      f.outcome = how.outcome;
      f.inbound = how.inbound;
      f.reason = how.reason;
      world.all_complain_of(n, f).unheard(n);
    });
  }

  template <typename Write>
  void fails(int rounds, Write write) {
    if (ok_run_ > 0) since_ = round_ + 1;
    ok_run_ = 0;
    for (int i = 0; i < rounds; ++i) {
      ++round_;
      EvidenceBuilder world(members_, 0, round_);
      Failure how;
      how.since = since_;
      how.rounds = static_cast<int>(round_ - since_ + 1);
      write(world, how);
      feed(world.evidence());
    }
  }

  const exporters::Verdict& only() const {
    REQUIRE(step_.verdicts.size() == 1);
    return step_.verdicts.front();
  }
  const std::vector<exporters::Verdict>& verdicts() const { return step_.verdicts; }
  std::vector<std::string> take_events() { return std::exchange(events_, {}); }
  std::int64_t round() const { return round_; }
  state::Tracker& tracker() { return tracker_; }

 private:
  std::uint32_t members_;
  state::Tracker tracker_;
  state::Step step_;
  std::vector<std::string> events_;
  std::int64_t round_ = 100;
  std::int64_t since_ = 0;
  int ok_run_ = 0;
};

using Texts = std::vector<std::string>;

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

TEST_CASE("a member that left is cleared at once") {
  Bench bench;
  bench.node_fails(2, kUnreachable, 2);
  EvidenceBuilder world(4, 0, bench.round() + 1);
  world.all_complain_of(2, kUnreachable).unheard(2);
  world.evidence().expected[2] = false;
  bench.feed(world.evidence());
  CHECK(bench.verdicts().empty());
}

TEST_CASE("a worker crash is a suspect; the third within a minute is a page") {
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

TEST_CASE("kind and reason are refined early, then kept; so is the fingerprint of a page") {
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

TEST_CASE("links page when both ends are known to work elsewhere") {
  Bench bench;
  const auto broken = [](EvidenceBuilder& world, const Failure& f) { world.broken(1, 2, f); };
  bench.fails(1, broken);
  CHECK(bench.only().state == VerdictState::suspect);
  CHECK(bench.only().view == model::View::heard);
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

TEST_CASE("the page threshold grows with the logarithm of the cluster") {
  CHECK(state::page_threshold(64, 1.0) == Approx(17.8).margin(0.1));
  CHECK(state::page_threshold(1024, 1.0) == Approx(20.6).margin(0.1));
  CHECK(state::page_threshold(4, 1.0) < state::page_threshold(8, 1.0));
  CHECK(state::page_threshold(4, 10.0) < state::page_threshold(4, 1.0));
}

}  // namespace
