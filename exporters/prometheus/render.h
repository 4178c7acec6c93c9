// SPDX-License-Identifier: Apache-2.0
//
// Snapshot in, /metrics page out. Pure: what is not in the Snapshot comes in through PageContext.
// Called by the HTTP thread, once per Snapshot (exporters/http keeps the page).
#pragma once

#include <optional>
#include <string>

#include "exporters/prometheus/process_metrics.h"
#include "exporters/snapshot.h"

namespace collwatch::exporters {

struct PageContext {
  /// How long ago the Snapshot was made, so that round_age_seconds grows while the loop is stuck.
  double snapshot_age_seconds = 0;
  std::optional<ProcessMetrics> process;  ///< nothing: the process_* metrics are left out
};

/// Text format 0.0.4, for Content-Type kMetricsContentType. Never throws for any Snapshot.
std::string render(const Snapshot& snapshot, const PageContext& context = {});

inline constexpr const char* kMetricsContentType = "text/plain; version=0.0.4; charset=utf-8";

}  // namespace collwatch::exporters
