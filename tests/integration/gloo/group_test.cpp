// SPDX-License-Identifier: Apache-2.0
//
// Three real workers in one group context: all collectives at both sizes, and what a dead, a silent
// or a disagreeing member does to the others.
#include <csignal>
#include <set>

#include "tests/integration/gloo/worker_process.h"
#include "tests/support/catch.h"

using namespace collwatch;
using model::Collective;
using model::Outcome;
using model::Phase;
using test::WorkerProcess;
using wire::CollectiveReport;

namespace {

using Members = std::vector<WorkerProcess*>;

const std::vector<wire::CollectiveStep> kAllSteps = {
    {Collective::barrier, 0},         {Collective::allreduce, 4},
    {Collective::allreduce, 1048576}, {Collective::broadcast, 4},
    {Collective::broadcast, 1048576}, {Collective::allgather, 4},
    {Collective::allgather, 1048576}, {Collective::alltoall, 4},
    {Collective::alltoall, 1048576}};

std::vector<wire::Blob> prepare_group(const Members& members, std::uint64_t attempt,
                                      int timeout_ms) {
  const int size = static_cast<int>(members.size());
  for (int rank = 0; rank < size; ++rank) {
    members[static_cast<std::size_t>(rank)]->send(
        wire::GroupPrepare{attempt, rank, size, "127.0.0.1", timeout_ms});
  }
  std::vector<wire::Blob> blobs;
  for (WorkerProcess* member : members) {
    blobs.push_back(member
                        ->await<wire::GroupPrepared>([&](const wire::GroupPrepared& prepared) {
                          return prepared.attempt == attempt;
                        })
                        .blob);
  }
  return blobs;
}

void form_group(const Members& members, std::uint64_t attempt, int timeout_ms = 10000) {
  const auto blobs = prepare_group(members, attempt, timeout_ms);
  for (WorkerProcess* member : members) {
    member->send(wire::GroupConnect{attempt, "group-" + std::to_string(attempt), blobs});
  }
  for (WorkerProcess* member : members) {
    const auto report = member->await<CollectiveReport>();
    INFO(wire::encode(wire::FromWorker{report}));
    REQUIRE(report.attempt == attempt);
    REQUIRE(report.phase == Phase::connect);
    REQUIRE(report.outcome == Outcome::ok);
  }
}

void run_all(const Members& members, std::uint64_t attempt, std::int64_t round) {
  for (WorkerProcess* member : members) {
    member->send(wire::GroupRun{attempt, round, 10000, kAllSteps});
  }
  for (WorkerProcess* member : members) {
    for (const wire::CollectiveStep& step : kAllSteps) {
      const auto report = member->await<CollectiveReport>();
      INFO(member->name() << ": " << wire::encode(wire::FromWorker{report}));
      CHECK(report.outcome == Outcome::ok);
      CHECK(report.phase == Phase::collective);
      CHECK(report.collective == step.collective);
      CHECK(report.size_bytes == step.size_bytes);
      CHECK(report.round == round);
      CHECK(report.duration_us > 0);
    }
  }
}

}  // namespace

TEST_CASE("a group of three runs every collective at both sizes, verified, round after round") {
  WorkerProcess a("node-a");
  WorkerProcess b("node-b");
  WorkerProcess c("node-c");
  const Members members{&a, &b, &c};
  form_group(members, 1);
  for (std::int64_t round = 40; round < 44; ++round) run_all(members, 1, round);
}

TEST_CASE("a killed member fails the group with a typed outcome, and the survivors re-form it") {
  WorkerProcess a("node-a");
  WorkerProcess b("node-b");
  WorkerProcess c("node-c");
  form_group({&a, &b, &c}, 1);
  b.signal(SIGKILL);
  CHECK(b.await_exit() == -SIGKILL);
  for (WorkerProcess* survivor : {&a, &c}) survivor->send(wire::GroupRun{1, 5, 1000, kAllSteps});
  for (WorkerProcess* survivor : {&a, &c}) {
    const auto report = survivor->await<CollectiveReport>();
    INFO(wire::encode(wire::FromWorker{report}));
    CHECK((report.outcome == Outcome::peer_lost || report.outcome == Outcome::timeout));
    CHECK(report.collective == Collective::barrier);
    CHECK(report.round == 5);
    CHECK_FALSE(report.text.empty());
    survivor->settle();
    CHECK_FALSE(survivor->peek<CollectiveReport>([](const CollectiveReport&) { return true; }));
  }
  form_group({&a, &c}, 2);
  run_all({&a, &c}, 2, 6);
}

TEST_CASE("a stopped member is a timeout for everybody else") {
  WorkerProcess a("node-a");
  WorkerProcess b("node-b");
  WorkerProcess c("node-c");
  form_group({&a, &b, &c}, 1);
  c.freeze();
  for (WorkerProcess* member : {&a, &b}) {
    member->send(wire::GroupRun{1, 5, 300, {{Collective::allreduce, 4}}});
  }
  std::set<Outcome> outcomes;
  for (WorkerProcess* member : {&a, &b}) {
    const auto report = member->await<CollectiveReport>();
    INFO(wire::encode(wire::FromWorker{report}));
    CHECK(report.outcome != Outcome::ok);
    outcomes.insert(report.outcome);
  }
  // One of them may see the other give up first; somebody saw the silence itself.
  CHECK(outcomes.count(Outcome::timeout) == 1);
}

TEST_CASE("members that disagree about a size time out, nobody aborts") {
  WorkerProcess a("node-a");
  WorkerProcess b("node-b");
  form_group({&a, &b}, 1);
  a.send(wire::GroupRun{1, 5, 300, {{Collective::allreduce, 1048576}}});
  b.send(wire::GroupRun{1, 5, 300, {{Collective::allreduce, 4}}});
  for (WorkerProcess* member : {&a, &b}) {
    CHECK(member->await<CollectiveReport>().outcome != Outcome::ok);
    member->settle();
  }
  form_group({&a, &b}, 2);
  run_all({&a, &b}, 2, 6);
}

TEST_CASE("a member that is missing, and a meeting of another size, are typed at the start") {
  WorkerProcess a("node-a");
  WorkerProcess b("node-b");
  WorkerProcess c("node-c");
  auto blobs = prepare_group({&a, &b, &c}, 1, 300);
  c.signal(SIGKILL);
  CHECK(c.await_exit() == -SIGKILL);
  for (WorkerProcess* member : {&a, &b}) member->send(wire::GroupConnect{1, "group", blobs});
  for (WorkerProcess* member : {&a, &b}) {
    const auto report = member->await<CollectiveReport>();
    INFO(wire::encode(wire::FromWorker{report}));
    CHECK(report.phase == Phase::connect);
    CHECK((report.outcome == Outcome::refused || report.outcome == Outcome::timeout ||
           report.outcome == Outcome::peer_lost));
  }
  blobs = prepare_group({&a, &b}, 2, 300);
  blobs.push_back(blobs[0]);
  a.send(wire::GroupConnect{2, "group", blobs});
  CHECK(a.await<CollectiveReport>().outcome == Outcome::misuse);
}

TEST_CASE("a closed group says nothing and lets go") {
  WorkerProcess a("node-a");
  WorkerProcess b("node-b");
  form_group({&a, &b}, 1);
  a.send(wire::GroupClose{});
  a.send(wire::GroupRun{1, 5, 300, {{Collective::barrier, 0}}});
  a.send(wire::Stop{});
  CHECK(a.await_exit() == 0);
  CHECK_FALSE(a.peek<CollectiveReport>([](const CollectiveReport&) { return true; }));
}

TEST_CASE("a member that sends wrong values is named by all others, and keeps nobody waiting") {
  WorkerProcess a("node-a");
  WorkerProcess b("node-b", true, "collwatch-probe-gloo-corrupting-group");
  WorkerProcess c("node-c");
  const Members members{&a, &b, &c};
  form_group(members, 1);
  const std::vector<wire::CollectiveStep> steps = {{Collective::barrier, 0},
                                                   {Collective::allreduce, 1048576},
                                                   {Collective::allgather, 1048576},
                                                   {Collective::alltoall, 1048576}};
  for (WorkerProcess* member : members) member->send(wire::GroupRun{1, 7, 10000, steps});
  for (WorkerProcess* member : members) {
    INFO(member->name());
    const auto words = member->await<wire::GroupAccusations>();
    CHECK(words.round == 7);
    CHECK(words.wrong_from == std::vector<std::uint32_t>{0b010, 0b010, 0b010});
    CHECK(member->await<CollectiveReport>().outcome == Outcome::ok);  // the barrier
    const auto report = member->await<CollectiveReport>();
    CHECK(report.collective == Collective::allreduce);
    CHECK(report.outcome == Outcome::data_corruption);
    CHECK(report.text == "allreduce of 1048576 bytes a rank: 8 elements are wrong");
  }
  // What fails later in the run does not hide it.
  form_group(members, 3);
  for (WorkerProcess* member : members) {
    const std::uint32_t other = member == &c ? 1048576 : 4;
    member->send(wire::GroupRun{
        3, 9, 1000, {{Collective::alltoall, 1048576}, {Collective::allreduce, other}}});
  }
  for (WorkerProcess* member : members) {
    INFO(member->name());
    const auto report = member->await<CollectiveReport>();
    CHECK(report.round == 9);
    CHECK((member == &b || report.outcome == Outcome::data_corruption));
  }
  // Small values of it are whole.
  form_group(members, 2);
  for (WorkerProcess* member : members) {
    member->send(wire::GroupRun{2, 8, 10000, {{Collective::alltoall, 4}}});
  }
  for (WorkerProcess* member : members) {
    CHECK(member->await<CollectiveReport>().outcome == Outcome::ok);
    member->settle();
    CHECK_FALSE(member->peek<wire::GroupAccusations>([](const auto&) { return true; }));
  }
}
