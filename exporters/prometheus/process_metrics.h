// SPDX-License-Identifier: Apache-2.0
//
// What this process costs its host, read from /proc for the process_* metrics. Called once a
// rendering by the HTTP thread; tests give another root.
#pragma once

#include <optional>
#include <string>

namespace collwatch::exporters {

struct ProcessMetrics {
  double cpu_seconds = 0;
  double resident_bytes = 0;
  double open_fds = 0;
  double max_fds = 0;  ///< 0 when unlimited or unknown
  double threads = 0;
  double start_time_seconds = 0;  ///< Unix time
};

/// Nothing when `proc` cannot be read or is not a proc file system.
std::optional<ProcessMetrics> read_process_metrics(const std::string& proc = "/proc");

}  // namespace collwatch::exporters
