// SPDX-License-Identifier: Apache-2.0
//
// A wrong wall clock for one process, by libfaketime: what it is started with, and the file through
// which its clock is set while it runs. The monotonic clock stays right, as it does on a host whose
// clock somebody sets.
#pragma once

#include <chrono>
#include <string>
#include <vector>

#include "probes/model/result.h"

namespace collwatch::demo {

/// The library's path, or a sentence that says how to get it.
model::Result<std::string> find_faketime();

/// Environment (NAME=value) of a process whose wall clock is what `file` says.
std::vector<std::string> faketime_environment(const std::string& library, const std::string& file);

/// Sets the clock of everybody who was started with `file`; 0: right.
model::Result<void> set_wall_clock(const std::string& file, std::chrono::milliseconds ahead);

}  // namespace collwatch::demo
