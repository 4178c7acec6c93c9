// SPDX-License-Identifier: Apache-2.0
//
// The watcher's source of training processes: what it tells of a fake /proc, and when it looks
// again.
#include <poll.h>

#include <iostream>

#include "daemon/watch/process_source.h"
#include "tests/support/catch.h"
#include "tests/support/paused_child.h"
#include "tests/unit/processes/fake_proc.h"

using namespace collwatch;
using namespace std::chrono_literals;
using test::FakeProc;
using test::torch_rank;

namespace {

constexpr base::TimePoint kStart = base::TimePoint(100s);

struct Told {
  std::vector<wire::WatchedJobs> jobs;
  std::vector<wire::Finding> findings;
  watch::Sink sink() {
    return [this](const wire::FromWatcher& message) {
      if (const auto* told = std::get_if<wire::WatchedJobs>(&message)) jobs.push_back(*told);
      if (const auto* told = std::get_if<wire::Finding>(&message)) findings.push_back(*told);
    };
  }
};

}  // namespace

TEST_CASE("jobs are told at once and after each interval, not in between") {
  FakeProc proc;
  proc.put(torch_rank(10, 0, 2));
  proc.put(torch_rank(11, 1, 2));
  Told told;
  watch::ProcessSource source(proc.surroundings(), 15s, told.sink());
  CHECK(source.look(kStart) == 15s);
  REQUIRE(told.jobs.size() == 1);
  REQUIRE(told.jobs[0].jobs.size() == 1);
  const wire::WatchedJob& job = told.jobs[0].jobs[0];
  CHECK(job.job == "torchrun:run-17");
  CHECK(job.ranks == std::vector<int>{0, 1});
  CHECK(job.processes == 2);
  CHECK(job.world_size == 2);
  CHECK(job.backend == "unknown");
  CHECK_FALSE(job.stalled);
  CHECK(source.look(kStart + 5s) == 10s);
  CHECK(told.jobs.size() == 1);
  source.look(kStart + 15s);
  REQUIRE(told.jobs.size() == 2);
  CHECK(told.jobs[1].jobs[0].stalled);
  CHECK(told.findings.empty());
}

TEST_CASE("a rank that is killed is told at once, and its job is looked at again a second later") {
  test::PausedChild child;
  FakeProc proc;
  proc.put(torch_rank(child.pid(), 1, 2));  // a real process, dressed up
  Told told;
  watch::ProcessSource source(proc.surroundings(), 15s, told.sink());
  source.look(kStart);
  REQUIRE(source.descriptors().size() == 1);
  child.end();
  pollfd ready{source.descriptors()[0], POLLIN, 0};
  if (poll(&ready, 1, 10'000) != 1) {
    std::cout << "SKIPPED: the kernel has no pidfds\n";
    return;
  }
  CHECK(source.look(kStart + 3s) == 1s);
  if (told.findings.empty()) {
    std::cout << "SKIPPED: this kernel does not tell how a process ended (6.15 does)\n";
    return;
  }
  REQUIRE(told.findings.size() == 1);
  CHECK(told.findings[0].fingerprint == model::Fingerprint::worker_exit);
  CHECK(told.findings[0].rank == 1);
  CHECK(told.findings[0].role == "initiating");
  proc.remove(child.pid());
  source.look(kStart + 4s);
  REQUIRE(told.jobs.size() == 2);
  CHECK(told.jobs[1].jobs.empty());
}

TEST_CASE("the end of a program without a training library is nobody's business") {
  test::PausedChild child;
  FakeProc proc;
  auto program = torch_rank(child.pid(), 1, 2);
  program.maps = {};
  proc.put(program);
  Told told;
  watch::ProcessSource source(proc.surroundings(), 15s, told.sink());
  source.look(kStart);
  child.end();
  source.look(kStart + 3s);
  CHECK(told.findings.empty());
}

TEST_CASE("a job that has just begun is looked at more often") {
  FakeProc proc;
  auto rank = torch_rank(10, 0, 1);
  rank.start_ticks = 99'000;
  proc.put(rank);
  Told told;
  CHECK(watch::ProcessSource(proc.surroundings(), 15s, told.sink()).look(kStart) == 5s);
  CHECK(watch::ProcessSource(proc.surroundings(), 2s, told.sink()).look(kStart) == 2s);
}

TEST_CASE("a finding is told with rank and job, a warning is not") {
  FakeProc proc;
  auto rank = torch_rank(10, 0, 4);
  rank.environment["LOCAL_WORLD_SIZE"] = "1";
  rank.environment["MASTER_ADDR"] = "10.0.0.1";
  proc.put(rank);
  proc.put_file(10, "/etc/hosts", "127.0.1.1 node-a\n");
  proc.put_net(10, "dev", "  lo: 1\n  eth0: 1\n");
  Told warned;
  watch::ProcessSource(proc.surroundings(), 15s, warned.sink()).look(kStart);
  CHECK(warned.findings.empty());
  rank.environment["GLOO_SOCKET_IFNAME"] = "eth7";
  proc.put(rank);
  Told told;
  watch::ProcessSource(proc.surroundings(), 15s, told.sink()).look(kStart);
  REQUIRE(told.findings.size() == 1);
  CHECK(told.findings[0].fingerprint == model::Fingerprint::gloo_wrong_interface);
  CHECK(told.findings[0].source == model::Source::process);
  CHECK(told.findings[0].rank == 0);
  CHECK(told.findings[0].job == "torchrun:run-17");
  CHECK(
      told.findings[0].text ==
      "GLOO_SOCKET_IFNAME=eth7 of rank 0 names an interface that is not there (interfaces that it "
      "has: lo, eth0)");
}

TEST_CASE("what many jobs say fits into a packet") {
  FakeProc proc;
  int pid = 100;
  for (int job = 0; job < 20; ++job) {
    for (int rank = 0; rank < 12; ++rank) {
      auto process = torch_rank(pid++, 1'000'000 + rank * 2, 9'000'000);
      process.environment["TORCHELASTIC_RUN_ID"] = std::string(60, 'j') + std::to_string(job);
      process.environment["LOCAL_RANK"] = "0";
      process.environment["LOCAL_WORLD_SIZE"] = "1000";
      proc.put(process);
    }
  }
  Told told;
  watch::ProcessSource(proc.surroundings(), 15s, told.sink()).look(kStart);
  REQUIRE(told.jobs.size() == 1);
  CHECK(told.jobs[0].jobs.size() == 16);
  CHECK(told.jobs[0].jobs[0].missing.size() == 128);
  CHECK(wire::encode(wire::FromWatcher(told.jobs[0])).size() < 65536);
}
