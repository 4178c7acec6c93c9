// SPDX-License-Identifier: Apache-2.0
//
// What inspect prints: text for people, and JSON against docs/schema/inspect.json by a real
// validator where python3-jsonschema is installed.
#include <sys/wait.h>

#include <cstdio>
#include <cstdlib>
#include <iostream>

#include "daemon/cli/inspect_print.h"
#include "tests/support/catch.h"

using namespace collwatch;
using Catch::Matchers::ContainsSubstring;

namespace {

processes::ProcessReport sample() {
  using namespace processes;
  Process process;
  process.pid = 4711;
  process.state = 'D';
  process.program = "train\xff.py";
  process.identity.job = "slurm:17";
  process.identity.rank = 8;
  process.identity.world_size = 64;
  process.backend = Backend::gloo;
  process.gpus = {"/dev/nvidia0"};
  process.libraries = {{"torch", "/opt/torch/lib/libtorch_cpu.so", "2.6.0"}};
  process.torch = "2.6.0";
  process.connections = {{Connections::Kind::ranks, "10.0.0.2", "eth0", false, 3, 5'000'000}};
  process.moved = 5'000'000;
  process.cpu_ratio = 0.25;
  process.progress = Progress::stalled;
  process.flight.dumps = {{"/tmp/nccl_trace_rank_8", 20'480, 3000, true, false}};
  process.flight.pipe_place = Place{"/proc/4711/root", "/tmp/p_8.pipe", "/tmp/p_8.pipe"};
  ProcessReport report;
  report.window_seconds = 1.0;
  report.looked_at = 20;
  report.unreadable = 3;
  report.processes = {process};
  report.jobs = {{"slurm:17", {8, 9, 10, 12}, {11}, 4, 64, Backend::gloo, "2.6.0", "", "", true}};
  report.findings = {{model::Fingerprint::gloo_fallback_on_gpu,
                      model::Confidence::low,
                      "slurm:17",
                      8,
                      4711,
                      "rank 8 holds a GPU",
                      {"evidence"},
                      "use NCCL"}};
  return report;
}

}  // namespace

TEST_CASE("inspect for people: the job, its ranks, what is wrong, what could not be seen") {
  const std::string text = cli::inspect_text(sample(), cli::Colour::no);
  CHECK_THAT(text, ContainsSubstring("slurm:17: ranks 8-10, 12 of 64 here, backend gloo, PyTorch "
                                     "2.6.0; without a process: rank 11; nothing moves."));
  CHECK_THAT(text, ContainsSubstring("eth0"));
  CHECK_THAT(text, ContainsSubstring("stalled (D)"));
  CHECK_THAT(text, ContainsSubstring("5.0"));
  CHECK_THAT(text, ContainsSubstring("gloo_fallback_on_gpu (a warning): rank 8 holds a GPU (pid "
                                     "4711)\n  - evidence\n  fix: use NCCL\n"));
  CHECK_THAT(
      text, ContainsSubstring("  dump of rank 8: /tmp/nccl_trace_rank_8 (20 KiB, 3000 s old, older "
                              "than the process, of another user)\n"
                              "  --dump can ask for a dump: rank 8\n"));
  CHECK_THAT(text, ContainsSubstring("3 of them could not be read"));
  CHECK(text.find('\x1b') == std::string::npos);
}

TEST_CASE("inspect where there is nothing says so") {
  const std::string text = cli::inspect_text({}, cli::Colour::no);
  CHECK_THAT(text,
             ContainsSubstring("No training process is to be seen.\n\nlooked at 0 processes"));
}

TEST_CASE("inspect's JSON is valid against its schema, full and empty") {
  if (std::system("python3 -c 'from jsonschema import Draft202012Validator' 2>/dev/null") != 0) {
    std::cout << "SKIPPED: python3-jsonschema is not installed (or is older than draft 2020-12)\n";
    return;
  }
  for (const auto& report : {sample(), processes::ProcessReport()}) {
    FILE* const validator =
        popen("python3 " COLLWATCH_SOURCE_DIR "/tests/unit/json/validate.py " COLLWATCH_SOURCE_DIR
              "/docs/schema/inspect.json",
              "w");
    REQUIRE(validator != nullptr);
    const std::string document = cli::inspect_json(report, "node-a", "2026-01-02T03:04:05.678Z");
    std::fwrite(document.data(), 1, document.size(), validator);
    const int status = pclose(validator);
    CHECK((WIFEXITED(status) && WEXITSTATUS(status) == 0));
  }
}
