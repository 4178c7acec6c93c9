// SPDX-License-Identifier: Apache-2.0
//
// Two or three real workers on loopback, the test playing their daemons: edges open and exchange,
// and each way of losing the other side ends in one report of the right type.
#include <csignal>

#include "tests/integration/gloo/worker_process.h"
#include "tests/support/catch.h"

using namespace collwatch;
using model::Outcome;
using model::Phase;
using test::of_edge;
using test::open_edge;
using test::WorkerProcess;
using wire::EdgeReport;
using wire::Half;

namespace {

/// One round of a-b with `large` bytes; both ends' reports are checked.
void exchange(WorkerProcess& a, WorkerProcess& b, std::uint64_t attempt, std::int64_t round,
              std::uint32_t large) {
  a.send(wire::Round{round, 5000, {{b.name(), large}}});
  const auto started = a.await<EdgeReport>(of_edge(b.name(), attempt));
  const auto answered = b.await<EdgeReport>(of_edge(a.name(), attempt));
  for (const EdgeReport& report : {started, answered}) {
    INFO(wire::encode(wire::FromWorker{report}));
    CHECK(report.outcome == Outcome::ok);
    CHECK(report.phase == Phase::collective);
    CHECK(report.round == round);
    CHECK(report.payload_bytes == std::max<std::uint32_t>(64, large));
    CHECK(report.failed_bytes == 0);
    CHECK((report.large_round_trip_us > 0) == (large > 64));
  }
  CHECK(started.round_trip_us > 0);
  CHECK(answered.round_trip_us > 0);
}

/// The report of a failure after the edge was open.
EdgeReport failure(WorkerProcess& worker, const std::string& peer, std::uint64_t attempt) {
  auto report = worker.await<EdgeReport>([&](const EdgeReport& candidate) {
    return of_edge(peer, attempt)(candidate) && candidate.outcome != Outcome::ok;
  });
  CHECK_FALSE(report.text.empty());
  return report;
}

}  // namespace

TEST_CASE("an edge opens and exchanges every payload of the rotation, more than once") {
  WorkerProcess a("node-a");
  WorkerProcess b("node-b");
  open_edge(a, b, 1);
  std::int64_t round = 0;
  for (int turn = 0; turn < 2; ++turn) {
    for (const std::uint32_t large : {0U, 64U, 1025U, 8193U, 65536U, 1048576U}) {
      exchange(a, b, 1, ++round, large);
    }
  }
}

TEST_CASE("each phase is announced before it is entered") {
  WorkerProcess a("node-a");
  WorkerProcess b("node-b");
  open_edge(a, b, 1);
  for (const Phase phase : {Phase::device_init, Phase::rendezvous, Phase::connect, Phase::warmup}) {
    CHECK(a.await<wire::PhaseEntered>([](const auto&) { return true; }).phase == phase);
  }
  b.signal(SIGKILL);
  CHECK(a.await<wire::PhaseEntered>().phase == Phase::teardown);
}

TEST_CASE("three workers hold an edge to each other and lose only the one that dies") {
  WorkerProcess a("node-a");
  WorkerProcess b("node-b");
  WorkerProcess c("node-c");
  open_edge(a, b, 1);
  open_edge(a, c, 1);
  open_edge(b, c, 1);
  b.signal(SIGKILL);
  // Nobody needs a round to notice, neither the one that would start nor the one that answers.
  for (WorkerProcess* survivor : {&a, &c}) {
    const auto report = failure(*survivor, "node-b", 1);
    CHECK(report.outcome == Outcome::peer_lost);
    CHECK(report.half == Half::none);
  }
  exchange(a, c, 1, 7, 8193);
}

TEST_CASE("a stopped answerer is a timeout of the starter's receive") {
  WorkerProcess a("node-a");
  WorkerProcess b("node-b");
  open_edge(a, b, 1);
  exchange(a, b, 1, 1, 0);
  b.freeze();
  a.send(wire::Round{2, 200, {{"node-b", 8193}}});
  const auto report = failure(a, "node-b", 1);
  CHECK(report.outcome == Outcome::timeout);
  CHECK(report.half == Half::recv);
  CHECK(report.phase == Phase::collective);
  CHECK(report.round == 2);
  CHECK(report.failed_bytes == 64);
  CHECK_THAT(report.text, Catch::Matchers::ContainsSubstring("Timed out waiting"));
  b.signal(SIGCONT);
  CHECK(failure(b, "node-a", 1).outcome == Outcome::peer_lost);
  open_edge(a, b, 2);
  exchange(a, b, 2, 3, 1025);
}

TEST_CASE("a starter that falls silent is a timeout of the answerer's receive") {
  WorkerProcess a("node-a");
  WorkerProcess b("node-b");
  open_edge(a, b, 1, 400, 100);
  const auto report = failure(b, "node-a", 1);
  CHECK(report.outcome == Outcome::timeout);
  CHECK(report.half == Half::recv);
  CHECK(report.failed_bytes == 64);
}

TEST_CASE("a newer attempt supersedes an open edge without a word") {
  WorkerProcess a("node-a");
  WorkerProcess b("node-b");
  open_edge(a, b, 1);
  open_edge(a, b, 2);
  exchange(a, b, 2, 1, 8193);
  a.settle();
  const auto stale = [](const EdgeReport& report) { return report.attempt == 1; };
  CHECK_FALSE(a.peek<EdgeReport>(stale));
}

TEST_CASE("a closed edge says nothing; its peer says peer_lost; late addresses are ignored") {
  WorkerProcess a("node-a");
  WorkerProcess b("node-b");
  open_edge(a, b, 1);
  b.send(wire::EdgeClose{"node-a"});
  CHECK(failure(a, "node-b", 1).outcome == Outcome::peer_lost);
  b.send(wire::EdgeConnect{"node-a", 1, "late", {}});
  b.settle();
  CHECK_FALSE(b.peek<EdgeReport>([](const EdgeReport&) { return true; }));
}

TEST_CASE("an edge that waits for its meeting can be superseded and closed") {
  WorkerProcess a("node-a");
  for (std::uint64_t attempt = 1; attempt <= 5; ++attempt) {
    a.send(wire::EdgePrepare{"node-b", attempt, 0, "127.0.0.1", 60000, 60000});
    a.await<wire::EdgePrepared>(
        [&](const wire::EdgePrepared& message) { return message.attempt == attempt; });
  }
  a.send(wire::EdgeClose{""});
  a.send(wire::Stop{});
  CHECK(a.await_exit() == 0);
  CHECK_FALSE(a.peek<EdgeReport>([](const EdgeReport&) { return true; }));
}

TEST_CASE("a meeting that never takes place is never_joined") {
  WorkerProcess a("node-a");
  a.send(wire::EdgePrepare{"node-b", 1, 0, "127.0.0.1", 50, 1000});
  const auto report = a.await<EdgeReport>();
  CHECK(report.outcome == Outcome::never_joined);
  CHECK(report.phase == Phase::rendezvous);
}

TEST_CASE("a peer that died after the meeting is a failure of the connect, typed") {
  WorkerProcess a("node-a");
  WorkerProcess b("node-b");
  const auto meeting = test::prepare_edge(a, b, 1, 300);
  b.signal(SIGKILL);
  CHECK(b.await_exit() == -SIGKILL);
  a.send(wire::EdgeConnect{"node-b", 1, "context", meeting.blob_b});
  const auto report = a.await<EdgeReport>();
  INFO(wire::encode(wire::FromWorker{report}));
  CHECK(report.phase == Phase::connect);
  // Who dials is told at once, who listens waits.
  CHECK((report.outcome == Outcome::refused || report.outcome == Outcome::timeout));
}

TEST_CASE("ends that disagree about the context do not take each other's payloads") {
  WorkerProcess a("node-a");
  WorkerProcess b("node-b");
  const auto meeting = test::prepare_edge(a, b, 1, 2000);
  a.send(wire::EdgeConnect{"node-b", 1, "one", meeting.blob_b});
  b.send(wire::EdgeConnect{"node-a", 1, "another", meeting.blob_a});
  const auto report = b.await<EdgeReport>();
  CHECK(report.outcome == Outcome::mismatch);
  CHECK(report.phase == Phase::warmup);
  CHECK(a.await<EdgeReport>().outcome != Outcome::ok);
}

TEST_CASE("a damaged or foreign address is a mismatch, and the worker lives") {
  WorkerProcess a("node-a");
  WorkerProcess b("node-b");
  auto meeting = test::prepare_edge(a, b, 1, 2000);
  meeting.blob_b.back() ^= 1;
  a.send(wire::EdgeConnect{"node-b", 1, "context", meeting.blob_b});
  CHECK(a.await<EdgeReport>().outcome == Outcome::mismatch);
  meeting = test::prepare_edge(a, b, 2, 2000);
  a.send(wire::EdgeConnect{"node-b", 2, "context", {'?'}});
  CHECK(a.await<EdgeReport>(of_edge("node-b", 2)).outcome == Outcome::mismatch);
  a.settle();
}

TEST_CASE("names and foreign addresses are refused before Gloo sees them") {
  WorkerProcess a("node-a");
  a.send(wire::EdgePrepare{"node-b", 1, 0, "no-such-host.invalid", 500, 1000});
  auto report = a.await<EdgeReport>();
  CHECK(report.outcome == Outcome::misuse);
  CHECK(report.phase == Phase::device_init);
  a.send(wire::EdgePrepare{"node-b", 2, 0, "203.0.113.7", 500, 1000});
  report = a.await<EdgeReport>();
  CHECK(report.outcome == Outcome::init_failed);
  CHECK(report.phase == Phase::device_init);
}

TEST_CASE("IPv6 edges work where the host has IPv6") {
  WorkerProcess a("node-a");
  WorkerProcess b("node-b");
  a.send(wire::EdgePrepare{"node-b", 1, 0, "::1", 5000, 60000});
  b.send(wire::EdgePrepare{"node-a", 1, 1, "::1", 5000, 60000});
  a.settle();
  const auto report = a.peek<EdgeReport>([](const EdgeReport&) { return true; });
  if (report && report->phase == Phase::device_init) {
    WARN("SKIPPED: no IPv6 loopback here: " << report->text);
    return;
  }
  test::Meeting meeting;
  meeting.blob_a = a.await<wire::EdgePrepared>().blob;
  meeting.blob_b = b.await<wire::EdgePrepared>().blob;
  test::connect_edge(a, b, 1, meeting);
  CHECK(a.await<EdgeReport>().outcome == Outcome::ok);
  CHECK(b.await<EdgeReport>().outcome == Outcome::ok);
  exchange(a, b, 1, 1, 65536);
}
