// SPDX-License-Identifier: Apache-2.0
//
// `inspect`: the training processes of this host, without an agent. Two looks a second apart, since
// one alone cannot say what moves. Exit codes: 0, 2 for a pid that does not exist; of --dump those
// of `diagnose`.
#include <algorithm>
#include <iostream>
#include <thread>

#include "daemon/cli/commands.h"
#include "daemon/cli/inspect_print.h"
#include "daemon/cli/terminal.h"
#include "daemon/processes/scan.h"
#include "exporters/json/time_text.h"

namespace collwatch::cli {
namespace {

constexpr std::chrono::milliseconds kBetweenLooks{1000};

/// Only that process, its job and what was found about it or the job as a whole.
void keep_only(processes::ProcessReport& report, int pid) {
  std::erase_if(report.processes, [&](const auto& process) { return process.pid != pid; });
  if (report.processes.empty()) return;
  const std::string job = report.processes.front().identity.job;
  std::erase_if(report.jobs, [&](const auto& item) { return item.job != job; });
  std::erase_if(report.findings, [&](const auto& finding) {
    return finding.job != job || (finding.pid != 0 && finding.pid != pid);
  });
}

}  // namespace

int run_inspect(const InspectOptions& options) {
  processes::Surroundings here = processes::real_surroundings();
  here.flight_files = true;
  const auto look = [&](const processes::ProcessReport* previous) {
    return processes::scan(here, previous, std::chrono::steady_clock::now(), options.pid);
  };
  processes::ProcessReport report = look(nullptr);
  if (!options.once && !options.dump) {
    std::this_thread::sleep_for(kBetweenLooks);
    report = look(&report);
  }
  if (options.pid) {
    keep_only(report, *options.pid);
    if (report.processes.empty()) {
      complain("there is no process " + std::to_string(*options.pid) + " that can be read here");
      return kUsageError;
    }
  }
  if (options.dump) return run_dump(report, options.json);
  if (options.json) {
    std::cout << inspect_json(report, here.host_name,
                              exporters::rfc3339(std::chrono::system_clock::now()))
              << "\n";
  } else {
    std::cout << inspect_text(report, colour_of_stdout());
  }
  return 0;
}

}  // namespace collwatch::cli
