// SPDX-License-Identifier: Apache-2.0
//
// The watcher's arithmetic on recorded sequences: majorities, times, innocents, wrong suspects.
#include "daemon/demo/watch.h"

#include "daemon/demo/summary.h"
#include "tests/unit/demo/recorded.h"

using namespace recorded;
using collwatch::model::Kind;
using collwatch::model::Reason;
using State = collwatch::model::VerdictState;

TEST_CASE("the ring is healthy when every started agent sees every edge ok") {
  Watcher watcher(4, plans({"stop:n2"}));
  say(watcher, 1.0, {0, 1, 2});
  CHECK_FALSE(watcher.healthy_since());
  CHECK(watcher.unhealthy_because() == "n3 does not answer");
  AgentStatus late = status(3);
  late.edges[0].outcome = model::Outcome::timeout;
  late.edges[1].outcome.reset();
  watcher.sample({1.5, 3, late});
  CHECK(watcher.unhealthy_because() == "n3->n0 timeout, n3->n1 not probed yet");
  watcher.sample({2.0, 3, status(3)});
  CHECK(watcher.healthy_since() == 2.0);
  watcher.sample({2.5, 3, late});
  CHECK(watcher.healthy_since() == 2.0);  // the first moment is what counts
}

TEST_CASE("nobody waits for a node that was never started") {
  Watcher watcher(4, plans({"absent:n2"}));
  for (const int agent : {0, 1, 3}) {
    AgentStatus s = status(agent);
    for (EdgeView& edge : s.edges) {
      if (edge.peer == "n2") edge.outcome.reset();
    }
    watcher.sample({1.0, agent, s});
  }
  CHECK(watcher.healthy_since() == 1.0);
}

TEST_CASE("suspect, page and clear are times of the majority of the unaffected") {
  Watcher watcher(4, plans({"stop:n2@10s+20s"}));
  say(watcher, 1.0, {0, 1, 2, 3});
  watcher.injected(0, 10.0);
  say(watcher, 10.5, {0}, {stalled("n2", State::suspect)});
  CHECK_FALSE(watcher.report().faults[0].suspect_after);  // one of three
  say(watcher, 10.9, {1}, {stalled("n2", State::suspect)});
  CHECK(*watcher.report().faults[0].suspect_after == Approx(0.9));
  say(watcher, 12.0, {0}, {stalled("n2", State::page)});
  say(watcher, 12.25, {3}, {stalled("n2", State::page)});
  CHECK(*watcher.report().faults[0].page_after == Approx(2.25));
  watcher.repaired(0, 30.0);
  say(watcher, 40.0, {0, 1}, {});
  CHECK_FALSE(watcher.report().faults[0].clear_after);  // n3 still holds it
  say(watcher, 41.5, {3}, {});
  const Report report = watcher.report();
  CHECK(*report.faults[0].clear_after == Approx(11.5));
  CHECK(report.faults[0].namers == std::set<int>{0, 1, 3});
  CHECK(report.misses.empty());
  CHECK(report.innocent_pages == 0);
  CHECK(report.wrong_suspects == 0);
  say(watcher, 41.6, {2}, {});
  CHECK(watcher.settled());
}

TEST_CASE("the victim's own word does not make a majority") {
  Watcher watcher(4, plans({"stop:n2"}));
  watcher.injected(0, 10.0);
  say(watcher, 11.0, {0, 2}, {stalled("n2", State::page)});
  CHECK_FALSE(watcher.report().faults[0].suspect_after);
}

TEST_CASE("a verdict that comes back was not cleared") {
  Watcher watcher(4, plans({"stop:n2@10s+5s"}));
  watcher.injected(0, 10.0);
  say(watcher, 11.0, {0, 1, 3}, {stalled("n2", State::page)});
  watcher.repaired(0, 15.0);
  say(watcher, 16.0, {0, 1, 3}, {});
  CHECK(*watcher.report().faults[0].clear_after == Approx(1.0));
  say(watcher, 17.0, {1}, {stalled("n2", State::suspect)});
  CHECK_FALSE(watcher.report().faults[0].clear_after);
  CHECK_FALSE(watcher.settled());
  say(watcher, 19.0, {1}, {});
  CHECK(*watcher.report().faults[0].clear_after == Approx(4.0));
}

TEST_CASE("settled is what every agent agrees on, the victim included") {
  Watcher watcher(4, plans({"drop:n2@10s+5s"}));
  const auto unreachable = verdict(Kind::node, "n2", Reason::unreachable, State::page);
  const auto isolated = verdict(Kind::self, "n2", Reason::isolated, State::suspect);
  say(watcher, 9.0, {0, 1, 2, 3});
  watcher.injected(0, 10.0);
  say(watcher, 11.0, {0, 1, 3}, {unreachable});
  say(watcher, 11.0, {2}, {isolated});
  watcher.repaired(0, 15.0);
  say(watcher, 25.0, {0, 1, 3});
  CHECK(watcher.report().faults[0].clear_after);
  CHECK_FALSE(watcher.settled());  // n2 still doubts itself
  say(watcher, 26.0, {2});
  CHECK(watcher.settled());
  watcher.sample({26.1, 1, std::nullopt});
  CHECK_FALSE(watcher.settled());
}

TEST_CASE("a fault that could not be injected is a result: said, expected no more, a miss") {
  Watcher watcher(4, plans({"kill:n2@5s+5s", "killworker:n2@7s"}));
  const auto down = verdict(Kind::node, "n2", Reason::agent_down, State::page,
                            model::Fingerprint::gloo_peer_lost);
  watcher.injected(0, 5.0);
  say(watcher, 6.0, {0, 1, 3}, {down});
  watcher.injected(1, 7.0);
  watcher.failed(1, "n2's collwatchd is not running");
  watcher.repaired(0, 10.0);
  say(watcher, 22.0, {0, 1, 2, 3});
  CHECK(watcher.settled());
  const Report report = watcher.report();
  CHECK_FALSE(report.faults[1].injected_at);
  REQUIRE(report.misses.size() == 1);
  CHECK(report.misses[0] ==
        "killworker:n2@7s: could not be injected: n2's collwatchd is not running");
  CHECK(has(sentence(watcher, 0.0, 30.0),
            "killworker:n2@7s could not be injected: n2's collwatchd is not running"));
}

TEST_CASE("what mends itself is clear after the injection") {
  Watcher watcher(4, plans({"killworker:n2"}));
  const auto crash = [](State state) {
    return verdict(Kind::node, "n2", Reason::worker_crash, state,
                   model::Fingerprint::gloo_peer_lost);
  };
  watcher.injected(0, 10.0);
  say(watcher, 10.5, {0, 1, 3}, {crash(State::suspect)});
  say(watcher, 21.0, {0, 1, 3}, {});
  const Report report = watcher.report();
  CHECK(*report.faults[0].clear_after == Approx(11.0));
  CHECK_FALSE(report.faults[0].page_after);
  CHECK(report.misses.empty());

  say(watcher, 22.0, {0}, {crash(State::page)});
  REQUIRE(watcher.report().misses.size() == 1);
  CHECK(has(watcher.report().misses[0], "deserved less"));
}

TEST_CASE("an innocent page counts at once, and once") {
  Watcher watcher(4, plans({"stop:n2"}));
  watcher.injected(0, 10.0);
  say(watcher, 11.0, {0, 1, 3}, {stalled("n2", State::page)});
  say(watcher, 11.2, {0, 1}, {stalled("n2", State::page), stalled("n1", State::page)});
  const Report report = watcher.report();
  CHECK(report.innocent_pages == 1);
  CHECK(report.innocents == std::set<std::string>{"n1"});
  REQUIRE(report.misses.size() == 1);
  CHECK(has(report.misses[0], "n1 was paged"));
}

TEST_CASE("blame before the fault is blame of an innocent") {
  Watcher watcher(4, plans({"stop:n2"}));
  say(watcher, 5.0, {0}, {stalled("n2", State::page)});
  CHECK(watcher.report().innocent_pages == 1);
}

TEST_CASE("a wrong suspicion may stand for one round, not longer") {
  Watcher watcher(4, plans({"drop:n2"}));
  watcher.injected(0, 10.0);
  const auto link = verdict(Kind::link, "n0<->n2", Reason::unreachable, State::suspect);
  say(watcher, 10.5, {0}, {link});
  say(watcher, 11.5, {0}, {link});
  CHECK(watcher.report().wrong_suspects == 0);
  say(watcher, 11.6, {0}, {});  // gone: the next one starts anew
  say(watcher, 12.0, {0}, {link});
  say(watcher, 12.9, {0}, {link});
  CHECK(watcher.report().wrong_suspects == 0);
  say(watcher, 13.1, {0}, {link});
  say(watcher, 14.0, {0}, {link});
  CHECK(watcher.report().wrong_suspects == 1);
  CHECK(watcher.report().wrongly_suspected == std::set<std::string>{"n0<->n2"});
}

TEST_CASE("doubting oneself blames nobody, and a victim is to do it") {
  Watcher watcher(4, plans({"drop:n2"}));
  const auto unreachable = verdict(Kind::node, "n2", Reason::unreachable, State::page);
  watcher.injected(0, 10.0);
  say(watcher, 11.0, {0, 1, 3}, {unreachable});
  REQUIRE(watcher.report().misses.size() == 1);
  CHECK(has(watcher.report().misses[0], "n2 itself never said self n2 isolated"));
  const auto isolated = verdict(Kind::self, "n2", Reason::isolated, State::suspect);
  for (const double at : {12.0, 13.0, 14.0}) say(watcher, at, {2}, {isolated});
  CHECK(watcher.report().misses.empty());
  CHECK(watcher.report().wrong_suspects == 0);
}

TEST_CASE("the right entity for the wrong reason is a miss") {
  Watcher watcher(4, plans({"kill:n2"}));
  watcher.injected(0, 10.0);
  say(watcher, 11.0, {0, 1, 3}, {stalled("n2", State::page)});
  const Report report = watcher.report();
  CHECK(report.faults[0].page_after);
  REQUIRE(report.misses.size() == 2);
  CHECK(has(report.misses[0], "the reason given was host_stall"));
  CHECK(has(report.misses[1], "the fingerprint given was gloo_collective_timeout"));
}

TEST_CASE("a reason may be refined until the repair, not after it") {
  Watcher watcher(4, plans({"stop:n2@10s+5s"}));
  watcher.injected(0, 10.0);
  const auto as = [](Reason reason) { return verdict(Kind::node, "n2", reason, State::page); };
  say(watcher, 11.0, {0, 1, 3}, {as(Reason::unreachable)});
  say(watcher, 12.0, {0, 1, 3}, {as(Reason::host_stall)});
  watcher.repaired(0, 15.0);
  say(watcher, 15.5, {0, 1, 3}, {as(Reason::worker_stuck)});
  CHECK(watcher.report().faults[0].verdict->reason == Reason::host_stall);
  CHECK(watcher.report().misses.empty());
}

TEST_CASE("a fault that nobody noticed is a miss, one that was not reached is none") {
  Watcher watcher(4, plans({"stop:n2"}));
  CHECK(watcher.report().misses.empty());
  watcher.injected(0, 10.0);
  say(watcher, 11.0, {0, 1, 3});
  CHECK(watcher.report().misses.size() == 1);
}

TEST_CASE("restart: any page of the restarted is a page of an innocent") {
  Watcher watcher(4, plans({"restart:n2"}));
  watcher.injected(0, 10.0);
  CHECK_FALSE(watcher.settled());  // it must be seen to be well again
  say(watcher, 10.5, {0, 1, 2, 3});
  CHECK(watcher.settled());
  say(watcher, 11.0, {0}, {stalled("n2", State::page)});
  CHECK(watcher.report().innocent_pages == 1);
}

TEST_CASE("of a bad link the agents at neither end are asked") {
  Watcher watcher(4, plans({"drop:n1-n2"}));
  const auto link = verdict(Kind::link, "n1<->n2", Reason::unreachable, State::page);
  watcher.injected(0, 10.0);
  say(watcher, 10.6, {1, 2}, {link});
  CHECK_FALSE(watcher.report().faults[0].suspect_after);
  say(watcher, 10.9, {0, 3}, {link});
  CHECK(*watcher.report().faults[0].suspect_after == Approx(0.9));
}

TEST_CASE("changes are told once") {
  Watcher watcher(4, plans({"stop:n2"}));
  say(watcher, 1.0, {0});
  say(watcher, 2.0, {0}, {stalled("n2", State::suspect)});
  say(watcher, 2.2, {0}, {stalled("n2", State::suspect)});
  say(watcher, 3.0, {0}, {stalled("n2", State::page)});
  say(watcher, 4.0, {0}, {});
  const auto changes = watcher.take_changes();
  REQUIRE(changes.size() == 3);
  CHECK(changes[0].verdict.state == State::suspect);
  CHECK(changes[1].verdict.state == State::page);
  CHECK(changes[2].what == Change::What::cleared);
  CHECK(watcher.take_changes().empty());

  for (const double at : {5.0, 5.1, 5.2, 5.3}) watcher.sample({at, 0, std::nullopt});
  say(watcher, 6.0, {0});
  const auto silence = watcher.take_changes();
  REQUIRE(silence.size() == 2);
  CHECK(silence[0].what == Change::What::silent);
  CHECK(silence[1].what == Change::What::answers);
}

TEST_CASE("a ticket is due, a page too much, and a mere suspicion too little") {
  const auto version = [](State state) {
    return verdict(Kind::misconfig, "n2", Reason::version_mismatch, state,
                   model::Fingerprint::version_mismatch);
  };
  Watcher watcher(4, plans({"version:n2"}));
  watcher.injected(0, 10.0);
  say(watcher, 11.0, {0, 1, 3}, {version(State::suspect)});
  REQUIRE(watcher.report().misses.size() == 1);
  CHECK(has(watcher.report().misses[0], "never became a majority's ticket"));
  say(watcher, 12.0, {0, 1}, {version(State::ticket)});
  CHECK(watcher.report().misses.empty());
  CHECK(*watcher.report().faults[0].ticket_after == Approx(2.0));
  CHECK_FALSE(watcher.report().faults[0].page_after);
  CHECK(has(sentence(watcher, 0.0, 30.0), "and filed a ticket after 2.0 s"));
  say(watcher, 13.0, {0}, {version(State::page)});
  REQUIRE(watcher.report().misses.size() == 1);
  CHECK(has(watcher.report().misses[0], "n2 was paged, though it deserved less"));
}

TEST_CASE("two verdicts about one subject are told once each") {
  Watcher watcher(4, plans({"iface:n2"}));
  const auto about = [](Reason reason) {
    return verdict(Kind::misconfig, "n2", reason, State::ticket);
  };
  const auto both = {about(Reason::wrong_interface), about(Reason::duplicate_name)};
  say(watcher, 1.0, {0}, both);
  say(watcher, 2.0, {0}, both);
  CHECK(watcher.take_changes().size() == 2);
}

TEST_CASE("a ring that grows is well when the new nodes are, and does not miss them afterwards") {
  const auto eight = [](int agent) { return status(agent, {}, 8); };
  Watcher watcher(8, plans({"scale=8@10s+10s"}));
  say(watcher, 1.0, {0, 1, 2, 3});
  CHECK(watcher.healthy_since() == 1.0);  // nobody waits for those that are not there yet
  watcher.injected(0, 10.0);
  CHECK(has(watcher.unhealthy_because(), "n7 does not answer"));
  for (int agent = 0; agent < 8; ++agent) watcher.sample({12.0, agent, eight(agent)});
  CHECK(watcher.unhealthy_because().empty());
  CHECK_FALSE(watcher.settled());
  watcher.repaired(0, 20.0);
  for (const double at : {21.0, 21.1, 21.2, 21.3}) watcher.sample({at, 6, std::nullopt});
  say(watcher, 22.0, {0, 1, 2, 3});
  CHECK(watcher.settled());
  CHECK(watcher.take_changes().empty());
}
