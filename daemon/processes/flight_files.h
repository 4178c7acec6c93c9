// SPDX-License-Identifier: Apache-2.0
//
// Where a rank's Flight Recorder puts its dumps and where it can be asked for one, from the
// variables that PyTorch reads, and what lies there now. Looks, and reads nothing of them. Used by
// scan.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "daemon/processes/proc_text.h"
#include "daemon/processes/report.h"

namespace collwatch::processes {

/// Fills Process::flight but for the user, which is there already. `folder` is its /proc/PID;
/// `same_files`: it sees the same file systems as we do.
void find_flight_files(Process& process, const Environment& environment, const std::string& folder,
                       bool same_files);

/// The names of dumps of that rank as the process sees them, the likeliest first: one where the
/// environment says it, else PyTorch's defaults.
std::vector<std::string> dump_names(const Environment& environment, int rank);

/// The FIFO that a rank reads; nothing where none is configured.
std::optional<std::string> pipe_name(const Environment& environment, int rank);

}  // namespace collwatch::processes
