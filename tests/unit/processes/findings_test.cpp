// SPDX-License-Identifier: Apache-2.0
//
// What is found wrong on a fake /proc, and what looks alike and is not.
#include <algorithm>
#include <cstdint>

#include "daemon/processes/scan.h"
#include "tests/support/catch.h"
#include "tests/unit/processes/fake_proc.h"

using namespace collwatch;
using namespace collwatch::processes;
using namespace std::chrono_literals;
using model::Confidence;
using model::Fingerprint;
using test::FakeProc;
using test::FakeProcess;
using test::torch_rank;

namespace {

constexpr TimePoint kStart = TimePoint(100s);
const std::string kTorch = "/opt/torch/lib/libtorch_cpu.so";
const std::string kNccl = "/opt/nccl/libnccl.so.2.18.3";

/// Two ranks on one host whose connection carries `bytes` in the second between two looks.
struct Pair {
  FakeProc proc;
  FakeProcess zero = torch_rank(10, 0, 2), one = torch_rank(11, 1, 2);
  std::uint64_t bytes = 0;
  bool nccl_answers = false;
  ProcessReport look() {
    zero.files.insert(zero.files.end(), {"socket:[100]", "socket:[120]"});
    one.files.insert(one.files.end(), {"socket:[110]", "socket:[120]"});
    proc.put(zero);
    proc.put(one);
    std::uint64_t counter = 0;
    Surroundings here = proc.surroundings();
    TcpSocket status = test::tcp(120, 28028, 0);
    status.listening = true;
    here.own_sockets = [&] {
      std::vector<TcpSocket> all = {test::tcp(100, 40000, 40001, counter),
                                    test::tcp(110, 40001, 40000, counter)};
      if (nccl_answers) all.push_back(status);
      return std::optional(all);
    };
    const auto first = scan(here, nullptr, kStart);
    counter = bytes;
    return scan(here, &first, kStart + 1s);
  }
};

int count(const ProcessReport& report, Fingerprint id) {
  return static_cast<int>(std::count_if(report.findings.begin(), report.findings.end(),
                                        [&](const Finding& finding) { return finding.id == id; }));
}

const std::vector<std::string> kGpu = {"/dev/nvidia0", "/dev/nvidiactl", "/dev/nvidia-uvm"};

/// Rank 0 of a job of two hosts, about to make its process group.
FakeProcess starting_rank(std::map<std::string, std::string> more) {
  FakeProcess rank = torch_rank(20, 0, 4);
  rank.environment["LOCAL_WORLD_SIZE"] = "1";
  rank.environment["MASTER_ADDR"] = "10.0.0.1";
  rank.environment.merge(more);
  return rank;
}

ProcessReport look_at(const FakeProcess& rank, const std::string& hosts = "") {
  FakeProc proc;
  proc.put(rank);
  proc.put_file(rank.pid, "/etc/hosts", hosts);
  proc.put_net(rank.pid, "dev", "    lo: 1 2\n  eth0: 1 2\n");
  proc.put_net(rank.pid, "tcp", "");
  return scan(proc.surroundings(), nullptr, kStart);
}

}  // namespace

TEST_CASE("GPUs open, no NCCL to be seen, Gloo carries much: a fallback, with its evidence") {
  Pair pair;
  pair.zero.files = pair.one.files = kGpu;
  pair.bytes = 50 << 20;
  const auto report = pair.look();
  REQUIRE(count(report, Fingerprint::gloo_fallback_on_gpu) == 2);
  const Finding& finding = report.findings[0];
  CHECK(finding.rank == 0);
  CHECK(finding.confidence == Confidence::medium);
  REQUIRE(finding.evidence.size() == 3);
  CHECK(finding.evidence[0] == "holds open: /dev/nvidia0");
  CHECK(finding.evidence[2] == "50 MiB/s over TCP connections to other ranks");
}

TEST_CASE("what only looks like a fallback is none") {
  Pair pair;
  pair.zero.files = pair.one.files = kGpu;
  pair.bytes = 50 << 20;
  SECTION("little goes over Gloo: a CPU group for barriers") {
    pair.bytes = 100'000;
  }
  SECTION("no GPU") {
    pair.zero.files = pair.one.files = {};
  }
  SECTION("a tool that asks the driver opens no memory") {
    pair.zero.files = pair.one.files = {"/dev/nvidia0", "/dev/nvidiactl"};
  }
  SECTION("NCCL's threads run") {
    pair.zero.threads = pair.one.threads = {"pt_gloo_runloop", "pt_nccl_watchdg"};
  }
  SECTION("NCCL's status port is open") {
    pair.zero.maps = pair.one.maps = {kTorch, kNccl};
    pair.zero.threads = pair.one.threads = {"pt_gloo_runloop"};
    pair.nccl_answers = true;
  }
  SECTION("NCCL's shared memory is mapped") {
    pair.zero.maps = pair.one.maps = {kTorch, kNccl, "/dev/shm/nccl-a1 (deleted)"};
  }
  SECTION("NCCL is mapped and this PyTorch does not name its threads") {
    pair.zero.maps = pair.one.maps = {kTorch, kNccl};
  }
  const auto report = pair.look();
  CHECK(report.processes.size() == 2);
  CHECK(count(report, Fingerprint::gloo_fallback_on_gpu) == 0);
}

TEST_CASE("NCCL mapped but idle beside Gloo's threads is a fallback all the same") {
  Pair pair;
  pair.zero.files = pair.one.files = kGpu;
  pair.zero.maps = pair.one.maps = {kTorch, kNccl};
  pair.zero.threads = pair.one.threads = {"pt_gloo_runloop"};
  pair.bytes = 50 << 20;
  CHECK(count(pair.look(), Fingerprint::gloo_fallback_on_gpu) == 2);
}

TEST_CASE("GLOO_SOCKET_IFNAME: not there, NCCL's syntax, loopback in a job of several hosts") {
  struct Row {
    const char* value;
    int found;
  };
  for (const Row& row : {Row{"eth0", 0}, Row{"eth7", 1}, Row{"eth0,eth7", 1}, Row{"^lo", 1},
                         Row{"lo", 1}, Row{"", 0}}) {
    INFO(row.value);
    const auto report = look_at(starting_rank({{"GLOO_SOCKET_IFNAME", row.value}}));
    REQUIRE(report.processes.size() == 1);
    CHECK(count(report, Fingerprint::gloo_wrong_interface) == row.found);
    for (const Finding& finding : report.findings) {
      CHECK(finding.confidence == Confidence::medium);
      CHECK_THAT(finding.fix, Catch::Matchers::ContainsSubstring("here are eth0"));
    }
  }
}

TEST_CASE("loopback is right for a job on one host") {
  auto rank = torch_rank(20, 0, 1);
  rank.environment["GLOO_SOCKET_IFNAME"] = "lo";
  CHECK(look_at(rank, "127.0.1.1 node-a\n").findings.empty());
}

TEST_CASE("a host name that resolves to loopback is a warning until Gloo listens there") {
  const std::string hosts = "127.0.0.1 localhost\n127.0.1.1 node-a\n";
  const auto report = look_at(starting_rank({}), hosts);
  REQUIRE(count(report, Fingerprint::gloo_wrong_interface) == 1);
  CHECK(report.findings[0].confidence == Confidence::low);
  CHECK(look_at(starting_rank({{"GLOO_SOCKET_IFNAME", "eth0"}}), hosts).findings.empty());
  CHECK(look_at(starting_rank({}), "10.0.0.1 node-a\n").findings.empty());

  FakeProc proc;
  auto rank = starting_rank({});
  rank.files = {"socket:[200]"};
  rank.threads = {"pt_gloo_runloop"};
  proc.put(rank);
  proc.put_file(rank.pid, "/etc/hosts", hosts);
  auto listener = test::tcp(200, 45000, 0, {}, "127.0.1.1", "0.0.0.0");
  listener.listening = true;
  proc.put_net(rank.pid, "tcp", test::tcp_table({listener}));
  const auto happened = scan(proc.surroundings(), nullptr, kStart);
  REQUIRE(count(happened, Fingerprint::gloo_wrong_interface) == 1);
  CHECK(happened.findings[0].confidence == Confidence::medium);
  CHECK(happened.findings[0].evidence.back() == "listens at 127.0.1.1:45000");
}

TEST_CASE("ranks of one job with different versions, a rank with two NCCLs") {
  FakeProc proc;
  for (int rank : {0, 1, 2}) {
    auto process = torch_rank(30 + rank, rank, 3);
    process.maps = {kTorch, rank == 1 ? "/old/libnccl.so.2.10.3" : kNccl};
    if (rank == 2) process.maps.emplace_back("/other/libnccl.so.2.18.3");
    proc.put(process);
  }
  const auto report = scan(proc.surroundings(), nullptr, kStart);
  REQUIRE(count(report, Fingerprint::version_mismatch) == 2);
  CHECK(report.findings[0].rank == 1);
  CHECK(report.findings[0].evidence ==
        std::vector<std::string>{"2.10.3: rank 1", "2.18.3: rank 0, rank 2"});
  CHECK(report.findings[1].rank == 2);
}

TEST_CASE("a rank without a process, while the others wait, has exited") {
  FakeProc proc;
  for (int rank : {0, 1, 2}) proc.put(torch_rank(40 + rank, rank, 3));
  const auto first = scan(proc.surroundings(), nullptr, kStart);
  proc.remove(41);
  const auto second = scan(proc.surroundings(), &first, kStart + 1s);
  CHECK(second.jobs.at(0).missing == std::vector<int>{1});
  REQUIRE(count(second, Fingerprint::worker_exit) == 1);
  CHECK(second.findings[0].rank == 1);
  CHECK(second.findings[0].pid == 0);

  // Somebody still computes: it may have finished in peace.
  auto busy = torch_rank(40, 0, 3);
  busy.cpu_ticks = 90;
  proc.put(busy);
  const auto third = scan(proc.surroundings(), &second, kStart + 2s);
  CHECK(third.jobs.at(0).missing == std::vector<int>{1});
  CHECK(third.findings.empty());
}

TEST_CASE("ranks that have not started yet are not missed, ranks of other hosts never") {
  FakeProc young;
  auto rank = torch_rank(50, 0, 3);
  rank.start_ticks = 99'500;
  young.put(rank);
  CHECK(scan(young.surroundings(), nullptr, kStart).jobs.at(0).missing.empty());
  FakeProc old;
  rank.start_ticks = 1000;
  old.put(rank);
  CHECK(scan(old.surroundings(), nullptr, kStart).jobs.at(0).missing == std::vector<int>{1, 2});
  FakeProc wide;
  rank = torch_rank(51, 9, 16);
  rank.environment["LOCAL_RANK"] = "1";
  rank.environment["LOCAL_WORLD_SIZE"] = "2";
  wide.put(rank);
  CHECK(scan(wide.surroundings(), nullptr, kStart).jobs.at(0).missing == std::vector<int>{8});
}
