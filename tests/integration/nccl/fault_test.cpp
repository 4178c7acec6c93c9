// SPDX-License-Identifier: Apache-2.0
//
// Everything that the stand-in NCCL can do wrong: each ends in its outcome, its fingerprint and
// NCCL's words, by the deadline, and the worker is gone afterwards.
#include "probes/nccl/guard.h"
#include "tests/integration/nccl/probe.h"
#include "tests/support/catch.h"

using namespace collwatch;
using namespace collwatch::tests;
using model::Collective;
using model::Fingerprint;
using model::Outcome;
using model::Phase;
using nccl_probe::kExitFailed;
using nccl_probe::kExitLate;

namespace {

constexpr int kTimeoutMs = 3000;

struct Row {
  const char* script;
  Phase phase;
  Outcome outcome;
  Fingerprint fingerprint;
  const char* words;
  int exit_code;
};

wire::NcclReport last_of(const std::vector<wire::NcclReport>& reports) {
  return reports.empty() ? wire::NcclReport{} : reports.back();
}

}  // namespace

TEST_CASE("a fault of the library ends in its outcome, fingerprint and words") {
  const Row rows[] = {
      {"fault hang_init\n", Phase::connect, Outcome::timeout, Fingerprint::nccl_init_failed,
       "no end of connect in time", kExitFailed},
      {"fault hang_init_call\n", Phase::connect, Outcome::timeout, Fingerprint::nccl_init_failed,
       "the call did not come back", kExitLate},
      {"fault hang_op broadcast\n", Phase::collective, Outcome::timeout,
       Fingerprint::nccl_watchdog_timeout, "no end of collective in time", kExitFailed},
      {"fault hang_op alltoall\n", Phase::collective, Outcome::timeout,
       Fingerprint::nccl_watchdog_timeout, "no end of collective in time", kExitFailed},
      {"fault async_error 6\nwords socketProgress: Connection closed by remote peer n2<4711>\n",
       Phase::warmup, Outcome::peer_lost, Fingerprint::nccl_remote_error, "n2<4711>", kExitFailed},
      {"fault async_error 2\nwords NET/IB : Got completion with status=12 opcode=0\n",
       Phase::warmup, Outcome::error, Fingerprint::nccl_ib_error, "status=12", kExitFailed},
      {"fault async_error 1\nwords Cuda failure 719 'unspecified launch failure'\n", Phase::warmup,
       Outcome::error, Fingerprint::cuda_error, "unspecified launch failure", kExitFailed},
      {"fault init_error 2\nwords Call to bind failed : Cannot assign requested address\n",
       Phase::connect, Outcome::init_failed, Fingerprint::nccl_system_error, "Cannot assign",
       kExitFailed},
      {"fault init_error 1\nwords Cuda failure 2 'out of memory'\n", Phase::connect,
       Outcome::init_failed, Fingerprint::cuda_oom, "out of memory", kExitFailed},
      {"fault init_error 3\nwords Bootstrap : no socket interface found\n", Phase::connect,
       Outcome::init_failed, Fingerprint::nccl_socket_error, "no socket interface", kExitFailed},
      {"fault wrong_sum\n", Phase::warmup, Outcome::data_corruption, Fingerprint::data_corruption,
       "1 of 1 words are wrong", kExitFailed},
  };
  for (const Row& row : rows) {
    INFO(row.script);
    FakeNode node;
    node.nccl_script(row.script);
    Probe probe(node);
    probe.send(prepare_with(node));
    REQUIRE(probe.wait_for<wire::NcclPrepared>());
    auto request = local_run(1);
    request.timeout_ms = kTimeoutMs;
    probe.send(request);
    const auto report = last_of(probe.reports());
    CHECK(report.phase == row.phase);
    CHECK(report.outcome == row.outcome);
    CHECK(report.fingerprint == row.fingerprint);
    CHECK_THAT(report.text, Catch::Matchers::ContainsSubstring(row.words));
    CHECK(probe.end() == supervise::ExitFact(supervise::Exited{row.exit_code}));
  }
}

TEST_CASE("a hang is named by the collective and the size that were announced before it") {
  FakeNode node;
  node.nccl_script("fault hang_op reduce_scatter\n");
  Probe probe(node);
  probe.send(prepare_with(node));
  REQUIRE(probe.wait_for<wire::NcclPrepared>());
  auto request = local_run(1);
  request.timeout_ms = kTimeoutMs;
  probe.send(request);
  const auto report = last_of(probe.reports());
  CHECK(report.collective == Collective::reduce_scatter);
  CHECK(report.size_bytes == 4);
  CHECK(probe.last_phase() == "collective of local reduce_scatter of 4 bytes");
}

TEST_CASE("a unique id that cannot be had is an init that failed, before any communicator") {
  FakeNode node;
  node.nccl_script("fault id_error 3\nwords Bootstrap : no socket interface found\n");
  Probe probe(node);
  probe.send(prepare_with(node));
  const auto report = last_of(probe.reports());
  CHECK(report.phase == Phase::rendezvous);
  CHECK(report.outcome == Outcome::init_failed);
  CHECK_THAT(report.text, Catch::Matchers::ContainsSubstring("no socket interface"));
}

TEST_CASE("a driver that fails or never answers is told, and does not hold the worker") {
  struct {
    const char* script;
    Outcome outcome;
    Fingerprint fingerprint;
  } const rows[] = {{"init_result 999\n", Outcome::error, Fingerprint::cuda_error},
                    {"hang_init\n", Outcome::timeout, Fingerprint::nccl_init_failed}};
  for (const auto& row : rows) {
    INFO(row.script);
    FakeNode node;
    node.cuda_script(row.script);
    Probe probe(node);
    auto request = prepare_with(node);
    request.timeout_ms = kTimeoutMs;
    probe.send(request);
    const auto report = last_of(probe.reports());
    CHECK(report.phase == Phase::device_init);
    CHECK(report.outcome == row.outcome);
    CHECK(report.fingerprint == row.fingerprint);
    CHECK(probe.end());
  }
}

TEST_CASE("memory of the GPU that cannot be had is cuda_oom") {
  FakeNode node;
  node.cuda_script("allocate_result 2\n");
  Probe probe(node);
  probe.send(prepare_with(node));
  REQUIRE(probe.wait_for<wire::NcclPrepared>());
  probe.send(local_run(1));
  const auto report = last_of(probe.reports());
  CHECK(report.fingerprint == Fingerprint::cuda_oom);
  CHECK(report.text == "CUDA error 2: out of memory");
}

TEST_CASE("a library that crashes takes the worker with it and nothing else") {
  for (const char* script : {"fault crash_init\n", "fault crash_op allgather\n"}) {
    INFO(script);
    FakeNode node;
    node.nccl_script(script);
    Probe probe(node);
    probe.send(prepare_with(node));
    REQUIRE(probe.wait_for<wire::NcclPrepared>());
    probe.send(local_run(1));
    (void)probe.reports();
    const auto end = probe.end();
    REQUIRE(end);
    CHECK(std::holds_alternative<supervise::Signalled>(*end));
    const std::string last = probe.last_phase();
    CHECK((last == "connect of local" || last == "collective of local allgather of 4 bytes"));
  }
}

TEST_CASE("a teardown that hangs spoils no result: all were reported before it") {
  FakeNode node;
  node.nccl_script("fault stuck_destroy\n");
  Probe probe(node);
  probe.send(prepare_with(node));
  REQUIRE(probe.wait_for<wire::NcclPrepared>());
  auto request = local_run(1);
  request.timeout_ms = kTimeoutMs;
  probe.send(request);
  const auto reports = probe.reports();
  REQUIRE(reports.size() == 11);
  for (std::size_t i = 0; i < 10; ++i) CHECK(reports[i].outcome == Outcome::ok);
  CHECK(reports[10].phase == Phase::teardown);
  CHECK(reports[10].outcome == Outcome::timeout);
  CHECK(probe.end() == supervise::ExitFact(supervise::Exited{kExitLate}));
}

TEST_CASE("the same GPU twice in one communicator is misuse, other versions are a mismatch") {
  struct {
    const char* cuda_b;
    const char* nccl_b;
    Outcome outcome;
    Fingerprint fingerprint;
    const char* words;
  } const rows[] = {{"bus_base 1\n", "", Outcome::misuse, Fingerprint::nccl_duplicate_gpu,
                     "Duplicate GPU detected : rank 0 and rank 1"},
                    {"bus_base 9\n", "version 22707\n", Outcome::mismatch,
                     Fingerprint::version_mismatch, "rank 0 version 22809 rank 1 version 22707"}};
  for (const auto& row : rows) {
    INFO(row.words);
    FakeNode a;
    FakeNode b;
    b.cuda_script(row.cuda_b);
    b.nccl_script(row.nccl_b);
    Probe first(a);
    Probe second(b);
    first.send(prepare_with(a));
    second.send(prepare_with(b));
    const auto prepared = first.wait_for<wire::NcclPrepared>();
    REQUIRE(prepared);
    REQUIRE(second.wait_for<wire::NcclPrepared>());
    auto request = local_run(2);
    request.rung = wire::Rung::rail;
    request.id = prepared->ids[0];
    first.send(request);
    request.first_rank = 1;
    second.send(request);
    for (Probe* probe : {&first, &second}) {
      const auto report = last_of(probe->reports());
      CHECK(report.outcome == row.outcome);
      CHECK(report.fingerprint == row.fingerprint);
      CHECK_THAT(report.text, Catch::Matchers::ContainsSubstring(row.words));
    }
  }
}

TEST_CASE("a rank that dies is a lost peer to the others, one that never comes a timeout") {
  FakeNode nodes[2];
  nodes[1].cuda_script("bus_base 9\n");
  nodes[1].nccl_script("fault hang_op allgather\n");
  Probe first(nodes[0]);
  Probe second(nodes[1]);
  first.send(prepare_with(nodes[0]));
  second.send(prepare_with(nodes[1]));
  const auto prepared = first.wait_for<wire::NcclPrepared>();
  REQUIRE(prepared);
  REQUIRE(second.wait_for<wire::NcclPrepared>());
  auto request = local_run(2);
  request.rung = wire::Rung::rail;
  request.id = prepared->ids[0];
  SECTION("it dies in the middle") {
    first.send(request);
    request.first_rank = 1;
    second.send(request);
    while (const auto phase = second.wait_for<wire::NcclPhase>()) {
      if (phase->scope == "rail allgather of 4 bytes") break;
    }
    second.kill();
    const auto report = last_of(first.reports());
    CHECK(report.outcome == Outcome::peer_lost);
    CHECK(report.fingerprint == Fingerprint::nccl_remote_error);
    CHECK(report.collective == Collective::allgather);
  }
  SECTION("it never comes") {
    request.timeout_ms = kTimeoutMs;
    first.send(request);
    const auto report = last_of(first.reports());
    CHECK(report.phase == Phase::connect);
    CHECK(report.outcome == Outcome::timeout);
  }
}
