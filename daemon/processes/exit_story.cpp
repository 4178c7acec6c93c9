// SPDX-License-Identifier: Apache-2.0
//
// Within one batch the order is unknown: a signal outweighs an exit code, which is how those end
// who notice that another one is gone.
#include "daemon/processes/exit_story.h"

#include <sys/wait.h>

#include <csignal>

namespace collwatch::processes {
namespace {

bool was_asked(const Exit& exit) {
  if (!exit.status || !WIFSIGNALED(*exit.status)) return false;
  const int number = WTERMSIG(*exit.status);
  return number == SIGTERM || number == SIGINT || number == SIGHUP;
}

bool is_clean(const Exit& exit) {
  return exit.status == 0;
}

std::string name_of(const Exit& exit) {
  return exit.rank ? "rank " + std::to_string(*exit.rank) : "a process of unknown rank";
}

Finding about(const std::vector<Exit>& culprits) {
  Finding finding;
  finding.id = model::Fingerprint::worker_exit;
  finding.job = culprits.front().job;
  finding.fix =
      "Read the end of its log and the kernel's log (collwatch diagnose), then start the job "
      "again.";
  for (const Exit& exit : culprits) {
    finding.evidence.push_back(name_of(exit) + ", pid " + std::to_string(exit.pid) + ", " +
                               exit.program + ": " + exit_text(exit));
  }
  if (culprits.size() > 1) {
    finding.confidence = model::Confidence::medium;
    finding.text = std::to_string(culprits.size()) + " ranks of " + finding.job +
                   " here ended in the same moment";
    return finding;
  }
  finding.confidence = model::Confidence::high;
  finding.rank = culprits.front().rank;
  finding.text = name_of(culprits.front()) + " " + exit_text(culprits.front()) + ", the first of " +
                 finding.job + " here";
  return finding;
}

}  // namespace

std::vector<Finding> ExitStory::add(const std::vector<Exit>& ended, TimePoint now) {
  std::map<std::string, std::vector<Exit>> jobs;
  for (const Exit& exit : ended) {
    if (!is_clean(exit)) jobs[exit.job].push_back(exit);
  }
  std::erase_if(begun_, [&](const auto& entry) { return now - entry.second > kEchoes; });
  std::vector<Finding> findings;
  for (const auto& entry : jobs) {
    if (!begun_.emplace(entry.first, now).second) continue;
    std::vector<Exit> by_signal;
    std::vector<Exit> by_code;
    bool order_is_known = true;
    for (const Exit& exit : entry.second) {
      if (was_asked(exit)) continue;
      // One that ended nobody knows how may have been the first.
      order_is_known = order_is_known && exit.status.has_value();
      if (!exit.status) continue;
      (WIFSIGNALED(*exit.status) ? by_signal : by_code).push_back(exit);
    }
    const std::vector<Exit>& culprits = by_signal.empty() ? by_code : by_signal;
    if (order_is_known && !culprits.empty()) findings.push_back(about(culprits));
  }
  return findings;
}

}  // namespace collwatch::processes
