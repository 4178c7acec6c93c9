// SPDX-License-Identifier: Apache-2.0
//
// Ranks into jobs: which belong together, which belong here and are not here. Pure.
#pragma once

#include <vector>

#include "daemon/processes/report.h"

namespace collwatch::processes {

/// A rank is missed only once the others are this old: a launcher starts them one after another.
inline constexpr double kStartupSeconds = 10;

/// `previous` ranks are missed at once, however young the job is.
std::vector<Job> jobs_of(const std::vector<Process>& processes, const std::vector<Job>& previous);

}  // namespace collwatch::processes
