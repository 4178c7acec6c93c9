// SPDX-License-Identifier: Apache-2.0
//
// Small rules of the NCCL worker as tables: versions, the configuration's layout, what a failure
// means, what a GPU's facts forbid.
#include "probes/nccl/config_layout.h"
#include "probes/nccl/cuda_driver.h"
#include "probes/nccl/nccl_library.h"
#include "probes/nccl/outcome.h"
#include "probes/nccl/refusal.h"
#include "tests/support/catch.h"
#include "tests/support/standin/config_check.h"

using namespace collwatch::nccl_probe;
using collwatch::model::Fingerprint;
using collwatch::model::Outcome;
using collwatch::model::Phase;
using collwatch::model::SkipReason;

TEST_CASE("version numbers as people write them") {
  CHECK(version_text(22809) == "2.28.9");
  CHECK(version_text(23007) == "2.30.7");
  CHECK(version_text(21003) == "2.10.3");
  CHECK(version_text(2708) == "2.7.8");
  CHECK(cuda_version_text(13000) == "13.0");
  CHECK(cuda_version_text(12040) == "12.4");
}

TEST_CASE("one configuration serves every library from 2.14 on") {
  const std::pair<int, std::size_t> sizes[] = {{21000, 0},  {21400, 24}, {21605, 24}, {21700, 40},
                                               {21805, 48}, {22602, 48}, {22700, 72}, {22809, 80},
                                               {22902, 88}, {23007, 96}};
  for (const auto& [version, size] : sizes) {
    CHECK(config_size(version) == size);
    const NcclConfig config = make_config(version);
    if (size == 0) continue;
    CHECK(standin::wrong_in_config(reinterpret_cast<const char*>(&config), version) == "");
  }
}

TEST_CASE("what a failure of NCCL means") {
  struct Row {
    Phase phase;
    NcclResult result;
    const char* words;
    Outcome outcome;
    Fingerprint fingerprint;
  };
  const Row rows[] = {
      {Phase::connect, kNcclInvalidUsage,
       "invalid usage: Duplicate GPU detected : rank 0 and rank 1 both on CUDA device 1b000",
       Outcome::misuse, Fingerprint::nccl_duplicate_gpu},
      {Phase::connect, kNcclInvalidUsage, "invalid usage", Outcome::misuse,
       Fingerprint::nccl_invalid_usage},
      {Phase::connect, kNcclInvalidArgument, "invalid argument: Invalid rank requested : 2/2",
       Outcome::misuse, Fingerprint::nccl_invalid_usage},
      {Phase::connect, kNcclUnhandledCudaError,
       "unhandled cuda error: Cuda failure 'CUDA driver version is insufficient for CUDA runtime "
       "version'",
       Outcome::init_failed, Fingerprint::cuda_error},
      {Phase::warmup, kNcclUnhandledCudaError, "Cuda failure 2 'out of memory'", Outcome::error,
       Fingerprint::cuda_oom},
      {Phase::collective, kNcclRemoteError, "NET/IB : Got completion from peer 10.0.0.2<4711>",
       Outcome::error, Fingerprint::nccl_ib_error},
      {Phase::collective, kNcclRemoteError, "remote process exited or there was a network error",
       Outcome::peer_lost, Fingerprint::nccl_remote_error},
      {Phase::connect, kNcclSystemError,
       "Call to connect to 10.0.0.2<4711> failed : Connection refused", Outcome::refused,
       Fingerprint::nccl_socket_error},
      {Phase::connect, kNcclSystemError, "unhandled system error", Outcome::init_failed,
       Fingerprint::nccl_system_error},
      {Phase::connect, kNcclInternalError, "internal error", Outcome::init_failed,
       Fingerprint::nccl_init_failed},
      {Phase::collective, kNcclInternalError, "internal error", Outcome::error,
       Fingerprint::nccl_system_error},
      {Phase::connect, kNcclInternalError,
       "Mismatched NCCL version detected : rank 0 version 22809", Outcome::mismatch,
       Fingerprint::version_mismatch},
  };
  for (const Row& row : rows) {
    INFO(row.words);
    const Failure failure = nccl_failure(row.phase, row.result, row.words);
    CHECK(failure.outcome == row.outcome);
    CHECK(failure.fingerprint == row.fingerprint);
    CHECK(failure.text == row.words);
  }
}

TEST_CASE("what is late is an init that failed or a collective that hangs, by its phase") {
  CHECK(late(Phase::connect, "").fingerprint == Fingerprint::nccl_init_failed);
  CHECK(late(Phase::warmup, "").fingerprint == Fingerprint::nccl_watchdog_timeout);
  CHECK(late(Phase::collective, "x").text ==
        "no end of collective in time; the library's last words: x");
  CHECK(late(Phase::collective, "").outcome == Outcome::timeout);
}

TEST_CASE("the driver must know the CUDA that NCCL was built for, by its major version") {
  CHECK(!why_not_this_driver("12.9", "12.4"));
  CHECK(!why_not_this_driver("12.9", "13.0"));
  CHECK(!why_not_this_driver("", "11.0"));
  CHECK(!why_not_this_driver("13.0", ""));
  REQUIRE(why_not_this_driver("13.0", "12.9"));
  CHECK(why_not_this_driver("13.0", "12.9")->reason == SkipReason::driver_too_old);
}

TEST_CASE("a GPU that is free, shared and has memory is probed, any other is not") {
  DeviceFacts good;
  good.bus = "0000:1B:00.0";
  good.free_bytes = kFreeBytesNeeded;
  good.processes = 0;
  CHECK(!why_not_probe({{good, good}, false, false}));
  CHECK(why_not_probe({{}, false, false})->reason == SkipReason::no_device);
  CHECK(why_not_probe({{good}, true, true})->reason == SkipReason::mps);
  DeviceFacts bad = good;
  bad.free_bytes = kFreeBytesNeeded - 1;
  CHECK(why_not_probe({{good, bad}, false, false})->reason == SkipReason::low_memory);
  bad.free_bytes.reset();
  CHECK(why_not_probe({{bad}, false, false})->reason == SkipReason::unavailable);
  bad = good;
  bad.processes.reset();
  CHECK(why_not_probe({{bad}, false, false})->reason == SkipReason::unavailable);
  CHECK(!why_not_probe({{bad}, false, true}));
  bad.processes = 1;
  CHECK(why_not_probe({{bad}, false, false})->reason == SkipReason::job_running);
  CHECK(!why_not_probe({{bad}, false, true}));
  bad.compute_mode = 3;
  CHECK(why_not_probe({{bad}, false, true})->reason == SkipReason::exclusive);
}
