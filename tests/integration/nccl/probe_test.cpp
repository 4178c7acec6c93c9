// SPDX-License-Identifier: Apache-2.0
//
// The NCCL worker with the stand-in libraries: what it says when all is well, which versions of the
// library it can drive, and how several workers form one communicator.
#include "tests/integration/nccl/probe.h"

#include <fstream>
#include <set>

#include "probes/nccl/guard.h"
#include "tests/support/catch.h"

using namespace collwatch;
using namespace collwatch::tests;
using model::Collective;
using model::Outcome;
using model::Phase;

namespace {

std::string failure_of(const std::vector<wire::NcclReport>& reports) {
  for (const wire::NcclReport& report : reports) {
    if (report.outcome != Outcome::ok) {
      return std::string(model::name(report.outcome)) + " in " +
             std::string(model::name(report.phase)) + ": " + report.text;
    }
  }
  return "";
}

}  // namespace

TEST_CASE("where the job's library cannot be opened the next is taken, and that is said") {
  FakeNode of_job;
  of_job.remove("libnccl.so.2");
  std::ofstream(of_job.nccl()) << "no library";
  FakeNode node;
  Probe probe(node);
  auto request = prepare_with(node);
  request.library = "auto";
  request.job_library = of_job.nccl();
  probe.send(request);
  const auto prepared = probe.wait_for<wire::NcclPrepared>();
  REQUIRE(prepared);
  CHECK(prepared->library == node.nccl());
  CHECK(prepared->note.find(of_job.nccl()) == 0);
}

TEST_CASE("where the job's library is too old no other is taken in its place") {
  FakeNode of_job("standin-old");
  of_job.nccl_script("version 20900\n");
  FakeNode node;
  Probe probe(node);
  auto request = prepare_with(node);
  request.library = "auto";
  request.job_library = of_job.nccl();
  probe.send(request);
  const auto skipped = probe.wait_for<wire::NcclSkipped>();
  REQUIRE(skipped);
  CHECK(skipped->reason == model::SkipReason::no_library);
  CHECK(skipped->text == of_job.nccl() + " is NCCL 2.9.0; 2.10 is the oldest known");
}

TEST_CASE("every collective is run in both sizes on all GPUs of a node and verified") {
  FakeNode node;
  node.cuda_script("devices 3\n");
  Probe probe(node);
  probe.send(prepare_with(node));
  const auto prepared = probe.wait_for<wire::NcclPrepared>();
  REQUIRE(prepared);
  CHECK(prepared->nccl == "2.28.9");
  CHECK(prepared->cuda == "12.9");
  CHECK(prepared->driver == "13.0");
  CHECK(prepared->library == node.nccl());
  REQUIRE(prepared->devices.size() == 3);
  CHECK(prepared->devices[1].bus == "0000:02:00.0");
  CHECK(prepared->devices[1].troubles.empty());
  REQUIRE(prepared->ids.size() == 2);
  CHECK(prepared->ids[0].size() == 128);

  probe.send(local_run(3));
  const auto reports = probe.reports();
  CHECK(failure_of(reports) == "");
  REQUIRE(reports.size() == 10);
  std::set<std::pair<Collective, std::uint32_t>> seen;
  for (const auto& report : reports) {
    seen.insert({report.collective, report.size_bytes});
    CHECK(report.ranks == 3);
    CHECK(report.round == 7);
    CHECK(report.duration_us > 0);
  }
  CHECK(seen.size() == 10);
  CHECK(seen.count({Collective::reduce_scatter, 1048576}) == 1);
  CHECK(probe.last_phase() == "teardown of local");
  probe.send(wire::NcclStop{});
  CHECK(probe.end() == supervise::ExitFact(supervise::Exited{0}));
}

TEST_CASE("every size of ncclConfig_t from 2.14 on is taken by a library of its version") {
  for (const char* version : {"21403", "21605", "21701", "21805", "22105", "22502", "22602",
                              "22707", "22803", "22809", "22902", "23003", "23007", "23101"}) {
    INFO(version);
    FakeNode node;
    node.nccl_script(std::string("version ") + version + "\n");
    Probe probe(node);
    probe.send(prepare_with(node));
    REQUIRE(probe.wait_for<wire::NcclPrepared>());
    probe.send(local_run(1));
    CHECK(failure_of(probe.reports()) == "");
  }
}

TEST_CASE("a library with no more than the functions of 2.10 is driven by calls that wait") {
  FakeNode node("standin-old");
  node.nccl_script("version 21003\n");
  node.cuda_script("devices 2\n");
  Probe probe(node);
  probe.send(prepare_with(node));
  const auto prepared = probe.wait_for<wire::NcclPrepared>();
  REQUIRE(prepared);
  CHECK(prepared->nccl == "2.10.3");
  probe.send(local_run(2));
  const auto reports = probe.reports();
  CHECK(failure_of(reports) == "");
  CHECK(reports.size() == 10);
}

TEST_CASE(
    "three workers form one communicator with rank 0's id, first of one GPU each, then of all") {
  FakeNode nodes[3];
  std::vector<std::unique_ptr<Probe>> probes;
  std::vector<wire::NcclPrepared> prepared;
  for (int i = 0; i < 3; ++i) {
    nodes[i].cuda_script("devices 2\nbus_base " + std::to_string(16 * (i + 1)) + "\n");
    probes.push_back(std::make_unique<Probe>(nodes[i]));
    probes.back()->send(prepare_with(nodes[i]));
    auto one = probes.back()->wait_for<wire::NcclPrepared>();
    REQUIRE(one);
    prepared.push_back(std::move(*one));
  }
  const auto climb = [&](wire::Rung rung, int each, std::size_t id) {
    for (int i = 0; i < 3; ++i) {
      wire::NcclRun run = local_run(3 * each);
      run.rung = rung;
      run.device = rung == wire::Rung::rail ? 1 : 0;
      run.first_rank = i * each;
      run.id = prepared[0].ids[id];
      probes[static_cast<std::size_t>(i)]->send(run);
    }
    for (const auto& probe : probes) {
      const auto reports = probe->reports();
      CHECK(failure_of(reports) == "");
      CHECK(reports.size() == 10);
    }
  };
  climb(wire::Rung::rail, 1, 0);
  climb(wire::Rung::all, 2, 1);
}

TEST_CASE("what a GPU is not well with is told before anything runs on it") {
  FakeNode node;
  node.nvml_script("ecc 3\npcie_width 8\nlinks_down 1\nslow 64\n");
  Probe probe(node);
  probe.send(prepare_with(node));
  const auto prepared = probe.wait_for<wire::NcclPrepared>();
  REQUIRE(prepared);
  REQUIRE(prepared->devices.size() == 1);
  CHECK(prepared->devices[0].troubles ==
        std::vector<std::string>{"3 uncorrected ECC errors since the driver was loaded",
                                 "slowed down by its temperature",
                                 "PCIe link of 8 lanes instead of 16", "1 of 4 NVLinks are down"});
}

TEST_CASE("a request that cannot be used is refused with words and ends the worker") {
  FakeNode node;
  Probe probe(node);
  probe.send(local_run(1));
  const auto error = probe.wait_for<wire::NcclError>();
  REQUIRE(error);
  CHECK_THAT(error->text, Catch::Matchers::ContainsSubstring("before nccl_prepare"));
  CHECK(probe.end() == supervise::ExitFact(supervise::Exited{nccl_probe::kExitBadRequest}));
}
