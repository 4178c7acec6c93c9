// SPDX-License-Identifier: Apache-2.0
//
// When the NCCL worker does not run, and what it says then.
#include "tests/integration/nccl/probe.h"
#include "tests/support/catch.h"

using namespace collwatch;
using namespace collwatch::tests;
using model::SkipReason;

namespace {

struct Row {
  const char* what;
  SkipReason reason;
  const char* nccl;
  const char* cuda;
  const char* nvml;
  const char* missing;
};

}  // namespace

TEST_CASE("a worker that must not or cannot run says which of the reasons it is and ends well") {
  const Row rows[] = {
      {"no library", SkipReason::no_library, "", "", "", "libnccl.so.2"},
      {"a library of before 2.10", SkipReason::no_library, "version 20903\n", "", "", ""},
      {"no driver", SkipReason::no_device, "", "", "", "libcuda.so.1"},
      {"a driver without GPUs", SkipReason::no_device, "", "devices 0\n", "", ""},
      {"an old driver", SkipReason::driver_too_old, "", "driver 11080\n", "", ""},
      {"a driver that does not fit its kernel part", SkipReason::driver_too_old, "",
       "init_result 803\n", "", ""},
      {"no NVML", SkipReason::unavailable, "", "", "", "libnvidia-ml.so.1"},
      {"an NVML that does not start", SkipReason::unavailable, "", "", "init_result 9\n", ""},
      {"exclusive mode", SkipReason::exclusive, "", "", "compute_mode 3\n", ""},
      {"MPS clients", SkipReason::mps, "", "", "mps 2\n", ""},
      {"little memory", SkipReason::low_memory, "", "", "free_mib 2000\n", ""},
      {"somebody on the GPU", SkipReason::job_running, "", "", "processes 1\n", ""},
      {"an NVML that cannot tell", SkipReason::unavailable, "", "", "processes -1\n", ""},
  };
  for (const Row& row : rows) {
    INFO(row.what);
    FakeNode node;
    node.nccl_script(row.nccl);
    node.cuda_script(row.cuda);
    node.nvml_script(row.nvml);
    if (*row.missing != '\0') node.remove(row.missing);
    Probe probe(node);
    probe.send(prepare_with(node));
    const auto skipped = probe.wait_for<wire::NcclSkipped>();
    REQUIRE(skipped);
    CHECK(skipped->reason == row.reason);
    CHECK(!skipped->text.empty());
    CHECK(probe.end() == supervise::ExitFact(supervise::Exited{0}));
  }
}

TEST_CASE("somebody on the GPU is no reason where the mode says always") {
  FakeNode node;
  node.nvml_script("processes 1\n");
  Probe probe(node);
  auto request = prepare_with(node);
  request.beside_jobs = true;
  probe.send(request);
  CHECK(probe.wait_for<wire::NcclPrepared>());
}
