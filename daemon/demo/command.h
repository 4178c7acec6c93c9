// SPDX-License-Identifier: Apache-2.0
//
// Runs a system tool (ip, iptables) to its end, under a deadline, without a shell. Used by the lab
// on the demo's main thread; safe from any thread.
#pragma once

#include <chrono>
#include <string>
#include <vector>

#include "probes/model/result.h"

namespace collwatch::demo {

/// The program's absolute path: from PATH, then /usr/sbin and /sbin (a plain `su` lacks them).
/// Empty when there is none.
std::string find_program(const std::string& name);

/// What it printed (stdout and stderr, at most 64 KiB) when it ended with 0; otherwise an Error
/// with the command, how it ended and what it printed. Past the deadline it is killed.
model::Result<std::string> run_command(const std::vector<std::string>& argv,
                                       std::chrono::milliseconds deadline);

}  // namespace collwatch::demo
