// SPDX-License-Identifier: Apache-2.0
//
// The real libnccl that COLLWATCH_NCCL_LIBRARY names, on a machine without a GPU: it loads, says its
// version, makes a unique id; and every way of making a communicator ends, with a typed outcome and
// NCCL's own words. Nothing here says anything about a GPU.
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <iostream>

#include "probes/nccl/environment.h"
#include "probes/nccl/nccl_library.h"
#include "probes/nccl/outcome.h"
#include "tests/integration/nccl/probe.h"
#include "tests/support/catch.h"

using namespace collwatch;
using namespace collwatch::tests;
using namespace collwatch::nccl_probe;
using Catch::Matchers::ContainsSubstring;
using model::Fingerprint;
using model::Outcome;
using model::Phase;

namespace {

/// Empty, with the reason printed: no library, or a machine that it could really run on.
std::string library_to_fail() {
  const char* named = std::getenv("COLLWATCH_NCCL_LIBRARY");
  std::string path = named != nullptr ? named : "";
  if (path.empty()) {
    std::cout << "SKIPPED: COLLWATCH_NCCL_LIBRARY names no real libnccl\n";
  } else if (std::filesystem::exists("/dev/nvidiactl")) {
    std::cout << "SKIPPED: this machine has a GPU driver; tests/gpu/run.sh is for it\n";
    path.clear();
  }
  return path;
}

}  // namespace

TEST_CASE("a real libnccl loads, says its version and makes unique ids without a GPU") {
  const std::string path = library_to_fail();
  if (path.empty()) return;
  auto variables = probe_environment("", false);
  variables.emplace_back("NCCL_SOCKET_IFNAME", "lo");
  apply(variables);
  const auto nccl = NcclLibrary::load(path);
  REQUIRE(nccl);
  std::cout << "libnccl " << version_text(nccl->version) << " for CUDA " << nccl->cuda << " at "
            << nccl->path << "\n";
  CHECK(nccl->version >= kOldestNccl);
  CHECK(nccl->cuda != "");
  NcclUniqueId id{};
  REQUIRE(nccl->get_unique_id(&id) == kNcclSuccess);
  int bytes = 0;
  for (const char byte : id.bytes) bytes += byte != 0 ? 1 : 0;
  CHECK(bytes > 8);

  const auto check = [&](NcclResult result, const char* what) {
    INFO(what);
    const Failure failure = nccl_failure(Phase::connect, result, nccl->words(result));
    std::cout << what << ": " << model::name(failure.outcome) << ", "
              << model::name(failure.fingerprint) << ": " << failure.text << "\n";
    CHECK(failure.outcome == Outcome::init_failed);
    CHECK(failure.fingerprint == Fingerprint::cuda_error);
    CHECK_THAT(failure.text, ContainsSubstring("Cuda failure"));
  };
  NcclComm comm = nullptr;
  check(nccl->comm_init_rank(&comm, 1, id, 0), "ncclCommInitRank");
  if (nccl->never_blocks()) {
    NcclConfig config = make_config(nccl->version);
    check(nccl->comm_init_rank_config(&comm, 1, id, 0, &config), "ncclCommInitRankConfig");
  }
  NcclResult state = kNcclSuccess;
  CHECK(nccl->comm_get_async_error(nullptr, &state) == kNcclInvalidArgument);
}

TEST_CASE("the worker with a real libnccl and no driver says no_device") {
  const std::string path = library_to_fail();
  if (path.empty()) return;
  FakeNode node;
  node.remove("libcuda.so.1");
  Probe probe(node);
  auto request = prepare_with(node);
  request.library = path;
  probe.send(request);
  const auto skipped = probe.wait_for<wire::NcclSkipped>();
  REQUIRE(skipped);
  CHECK(skipped->reason == model::SkipReason::no_device);
  CHECK(probe.end() == supervise::ExitFact(supervise::Exited{0}));
}

TEST_CASE("the worker with a real libnccl on a driver that is none fails in words or dies alone") {
  const std::string path = library_to_fail();
  if (path.empty()) return;
  FakeNode node;
  node.cuda_script("driver 99000\n");
  Probe probe(node);
  auto request = prepare_with(node);
  request.library = path;
  request.timeout_ms = 20000;
  probe.send(request);
  const auto prepared = probe.wait_for<wire::NcclPrepared>(30s);
  REQUIRE(prepared);
  CHECK(prepared->library == path);
  CHECK(prepared->ids.size() == 2);
  probe.send(local_run(1));
  const auto reports = probe.reports();
  const auto end = probe.end(30s);
  REQUIRE(end);
  std::cout << "with a stand-in driver: " << supervise::describe(*end) << ", last phase "
            << probe.last_phase() << ", " << (reports.empty() ? "no report" : reports.back().text)
            << "\n";
  if (reports.empty()) {
    CHECK(std::holds_alternative<supervise::Signalled>(*end));
  } else {
    CHECK(reports.back().outcome == Outcome::init_failed);
    CHECK(!reports.back().text.empty());
  }
}
