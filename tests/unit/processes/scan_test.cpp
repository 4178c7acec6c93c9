// SPDX-License-Identifier: Apache-2.0
//
// Looks at a fake /proc: who is a rank, what moves between two looks, what is left out and said.
#include "daemon/processes/scan.h"

#include "tests/support/catch.h"
#include "tests/unit/processes/fake_proc.h"

using namespace collwatch;
using namespace collwatch::processes;
using namespace std::chrono_literals;
using test::FakeProc;
using test::torch_rank;

namespace {

constexpr TimePoint kStart = TimePoint(100s);

std::vector<int> pids_of(const ProcessReport& report) {
  std::vector<int> pids;
  for (const Process& process : report.processes) pids.push_back(process.pid);
  return pids;
}

/// A socket table that a test can change between two looks.
struct Counted {
  std::vector<TcpSocket> sockets;
  Surroundings over(const FakeProc& proc) {
    Surroundings here = proc.surroundings();
    here.own_sockets = [this] { return std::optional(sockets); };
    return here;
  }
};

}  // namespace

TEST_CASE("torchrun, a rank, its data loader and a shell with its variables: one rank") {
  FakeProc proc;
  auto launcher = torch_rank(10, 0, 2);
  launcher.command = {"/usr/bin/python3", "/usr/bin/torchrun", "train.py"};
  proc.put(launcher);
  proc.put(torch_rank(11, 0, 2, 10));
  proc.put(torch_rank(12, 0, 2, 11));
  auto shell = torch_rank(13, 0, 2, 10);
  shell.name = "bash";
  shell.maps = {};
  proc.put(shell);
  proc.put(torch_rank(14, 1, 2, 10));
  proc.put({.pid = 15, .name = "sshd", .command = {"sshd"}});
  const auto report = scan(proc.surroundings(), nullptr, kStart);
  CHECK(pids_of(report) == std::vector<int>{11, 14});
  REQUIRE(report.jobs.size() == 1);
  CHECK(report.jobs[0].job == "torchrun:run-17");
  CHECK(report.jobs[0].ranks == std::vector<int>{0, 1});
  CHECK(report.jobs[0].world_size == 2);
  CHECK(report.jobs[0].missing.empty());
  CHECK(report.looked_at == 6);
  CHECK(report.processes[0].program == "train.py");
  CHECK(report.findings.empty());
}

TEST_CASE("a rank is told behind as much environment as a process can have") {
  FakeProc proc;
  auto rank = torch_rank(11, 3, 4);
  rank.environment["A"] = std::string(1500000, 'x');  // in front of RANK
  proc.put(rank);
  const auto report = scan(proc.surroundings(), nullptr, kStart);
  REQUIRE(report.processes.size() == 1);
  CHECK(report.processes[0].identity.rank == 3);
}

TEST_CASE("a rank of Slurm counts only with a training library, kernel threads and zombies never") {
  FakeProc proc;
  auto rank = torch_rank(20, 0, 2);
  rank.environment = {{"SLURM_PROCID", "0"}, {"SLURM_NTASKS", "2"}, {"SLURM_JOB_ID", "4711"}};
  proc.put(rank);
  rank.pid = 21;
  rank.maps = {};
  rank.environment["SLURM_PROCID"] = "1";
  proc.put(rank);
  auto kernel = torch_rank(22, 1, 2);
  kernel.flags = 0x00200000;
  proc.put(kernel);
  auto zombie = torch_rank(23, 1, 2);
  zombie.state = 'Z';
  proc.put(zombie);
  const auto report = scan(proc.surroundings(), nullptr, kStart);
  CHECK(pids_of(report) == std::vector<int>{20});
  CHECK(report.jobs[0].job == "slurm:4711");
}

TEST_CASE("without variables the threads of a process group make a rank of unknown number") {
  FakeProc proc;
  proc.put({.pid = 30, .threads = {"pt_gloo_runloop"}});
  proc.put({.pid = 31, .threads = {"asyncio_0"}});
  const auto report = scan(proc.surroundings(), nullptr, kStart);
  REQUIRE(pids_of(report) == std::vector<int>{30});
  CHECK_FALSE(report.processes[0].identity.rank.has_value());
  CHECK(report.processes[0].backend == Backend::gloo);
  CHECK(report.jobs[0].processes == 1);
}

TEST_CASE("a process can be asked for by its pid, and hides nobody") {
  FakeProc proc;
  proc.put({.pid = 40, .name = "bash", .command = {"bash"}});
  proc.put(torch_rank(41, 0, 1));
  proc.put(torch_rank(42, 0, 1, 41));
  CHECK(pids_of(scan(proc.surroundings(), nullptr, kStart, 40)) == std::vector<int>{41, 40});
  CHECK(pids_of(scan(proc.surroundings(), nullptr, kStart, 42)) == std::vector<int>{41, 42});
}

TEST_CASE("between two looks: CPU time or bytes are progress, neither is a stall") {
  FakeProc proc;
  Counted counted;
  auto computing = torch_rank(50, 0, 3);
  auto sending = torch_rank(51, 1, 3);
  auto waiting = torch_rank(52, 2, 3);
  sending.files = {"socket:[510]"};
  waiting.files = {"socket:[520]"};
  for (const auto& rank : {computing, sending, waiting}) proc.put(rank);
  counted.sockets = {test::tcp(510, 40001, 40002, 1000), test::tcp(520, 40003, 40004, 1000)};
  const Surroundings here = counted.over(proc);
  const auto first = scan(here, nullptr, kStart);
  for (const Process& process : first.processes) CHECK(process.progress == Progress::unknown);
  CHECK_FALSE(first.jobs[0].stalled);

  computing.cpu_ticks = 50;
  waiting.cpu_ticks = 1;
  for (const auto& rank : {computing, sending, waiting}) proc.put(rank);
  counted.sockets[0].bytes = 1'001'000;
  counted.sockets[1].bytes = 1100;
  const auto second = scan(here, &first, kStart + 1s);
  REQUIRE(second.processes.size() == 3);
  CHECK(second.processes[0].progress == Progress::moving);
  CHECK(second.processes[0].cpu_ratio == Approx(0.5));
  CHECK(second.processes[1].progress == Progress::moving);
  CHECK(second.processes[1].moved == 1'000'000);
  CHECK(second.processes[2].progress == Progress::stalled);
  CHECK_FALSE(second.jobs[0].stalled);

  const auto third = scan(here, &second, kStart + 2s);
  CHECK(third.jobs[0].stalled);
}

TEST_CASE("a connection to somebody here who is no rank is none to a rank, whatever its ports") {
  FakeProc proc;
  Counted counted;
  auto rank = torch_rank(55, 0, 1);
  rank.files = {"socket:[550]"};
  proc.put(rank);
  proc.put({.pid = 56, .name = "redis", .command = {"redis"}, .files = {"socket:[560]"}});
  counted.sockets = {test::tcp(550, 40001, 40002, 0), test::tcp(560, 40002, 40001, 0)};
  const auto report = scan(counted.over(proc), nullptr, kStart);
  REQUIRE(report.processes.at(0).connections.size() == 1);
  CHECK(report.processes[0].connections[0].kind == Connections::Kind::other);
  CHECK(report.processes[0].backend == Backend::unknown);
}

TEST_CASE("another process with the same pid is not compared with the one before") {
  FakeProc proc;
  auto rank = torch_rank(60, 0, 1);
  rank.cpu_ticks = 1000;
  proc.put(rank);
  const auto first = scan(proc.surroundings(), nullptr, kStart);
  rank.start_ticks = 2000;
  rank.cpu_ticks = 0;
  proc.put(rank);
  const auto second = scan(proc.surroundings(), &first, kStart + 1s);
  CHECK_FALSE(second.processes.at(0).cpu_ratio.has_value());
}

TEST_CASE("a stopped rank is stalled at the first look; one in state D is shown as it was known") {
  FakeProc proc;
  auto stopped = torch_rank(70, 0, 2);
  stopped.state = 'T';
  auto blocked = torch_rank(71, 1, 2);
  proc.put(stopped);
  proc.put(blocked);
  const auto first = scan(proc.surroundings(), nullptr, kStart);
  CHECK(first.processes.at(0).progress == Progress::stalled);
  blocked.state = 'D';
  proc.put(blocked);
  // Whoever opens these now may not come back.
  std::filesystem::remove(proc.folder(71) / "environ");
  std::filesystem::remove(proc.folder(71) / "maps");
  proc.put_file(71, "x", "");
  const auto second = scan(proc.surroundings(), &first, kStart + 1s);
  REQUIRE(second.processes.size() == 2);
  CHECK(second.processes[1].identity.rank == 1);
  CHECK(second.processes[1].libraries.size() == 1);
  CHECK(second.processes[1].progress == Progress::stalled);
  CHECK(second.blocked == 0);
  const auto unknown = scan(proc.surroundings(), nullptr, kStart);
  CHECK(pids_of(unknown) == std::vector<int>{70});
  CHECK(unknown.blocked == 1);
}

TEST_CASE("without counters the sockets are read from /proc, of each network namespace its own") {
  FakeProc proc;
  auto one = torch_rank(80, 0, 2);
  auto other = torch_rank(81, 1, 2);
  one.network = "net:[8]";
  other.network = "net:[9]";
  one.pids = other.pids = "pid:[8]";
  one.files = {"socket:[800]", "socket:[801]"};
  other.files = {"socket:[800]"};
  proc.put(one);
  proc.put(other);
  proc.put_net(80, "tcp",
               test::tcp_table({test::tcp(800, 40000, 40001, {}, "10.0.0.1", "10.0.0.2"),
                                test::tcp(801, 40005, 29500, {}, "10.0.0.1", "10.0.0.2")}));
  proc.put_net(80, "route", "Iface\tD\teth3\neth3\t0000000A\t00000000\t0001\t0\t0\t0\t00FFFFFF\n");
  proc.put_net(81, "tcp",
               test::tcp_table({test::tcp(900, 40001, 40000, {}, "10.0.0.2", "10.0.0.1")}));
  const auto report = scan(proc.surroundings(), nullptr, kStart);
  const Process& process = report.processes.at(0);
  CHECK(process.container);
  CHECK_FALSE(process.own_network);
  REQUIRE(process.connections.size() == 2);
  CHECK(process.connections[0].kind == Connections::Kind::ranks);
  CHECK(process.connections[0].interface == "eth3");
  CHECK_FALSE(process.connections[0].bytes.has_value());
  CHECK(process.connections[1].kind == Connections::Kind::store);
  CHECK(report.processes.at(1).connections.empty());
}

TEST_CASE("processes that are long known to be none are not read again, young ones are") {
  FakeProc proc;
  test::FakeProcess old{.pid = 90, .name = "nginx", .command = {"nginx"}};
  test::FakeProcess young = old;
  young.pid = 91;
  young.start_ticks = 99'000;
  proc.put(old);
  proc.put(young);
  const auto first = scan(proc.surroundings(), nullptr, kStart);
  CHECK(first.memory.strangers.contains(90));
  CHECK_FALSE(first.memory.strangers.contains(91));
  // Both would be ranks now, but an old program is no longer looked at.
  for (int pid : {90, 91}) {
    auto rank = torch_rank(pid, pid - 90, 2);
    rank.name = "nginx";
    rank.start_ticks = pid == 90 ? old.start_ticks : young.start_ticks;
    proc.put(rank);
  }
  CHECK(pids_of(scan(proc.surroundings(), &first, kStart + 15s)) == std::vector<int>{91});
}

TEST_CASE("a look ends in time and says that it is cut short") {
  FakeProc proc;
  proc.put(torch_rank(95, 0, 1));
  Surroundings here = proc.surroundings();
  auto now = kStart;
  here.clock = [&] { return now += 3s; };
  const auto report = scan(here, nullptr, kStart);
  CHECK(report.cut_short);
  CHECK(report.processes.empty());
}
