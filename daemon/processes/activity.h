// SPDX-License-Identifier: Apache-2.0
//
// What one rank does, judged from outside: which backend carries its collectives, whether anything
// moves. Pure; docs/inspect.md tells people what the words mean.
#pragma once

#include <string>
#include <vector>

#include "daemon/processes/report.h"

namespace collwatch::processes {

/// Less than this in a whole window is no progress: an idle Gloo loop takes 0.3 % of a core, a
/// store's and a monitor's keepalives some hundred bytes a second.
inline constexpr double kIdleCpuRatio = 0.02;
inline constexpr double kIdleBytesPerSecond = 4096;
inline constexpr double kShortestWindow = 0.5;

/// Signs of NCCL and Gloo among thread names and mapped files.
void note_backend_signs(Process& process, const std::vector<std::string>& threads,
                        const std::vector<std::string>& files);

/// Fills backend and why; connections and libraries are there by now.
void judge_backend(Process& process);

/// Fills progress and why from cpu_ratio, moved and state.
void judge_progress(Process& process, std::optional<double> window_seconds);

bool maps_library(const Process& process, std::string_view name);
int connections_to_ranks(const Process& process);

}  // namespace collwatch::processes
