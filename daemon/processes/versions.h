// SPDX-License-Identifier: Apache-2.0
//
// Which versions of PyTorch and NCCL a process has mapped, from the files beside them. Nothing is
// loaded or run.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "daemon/processes/report.h"

namespace collwatch::processes {

/// Fills libraries, torch, cuda and nccl from the mapped `files`; `root` is where the process' own
/// files are found. `cache` keeps what was read out of large files.
void read_versions(Process& process, const std::string& root, const std::vector<std::string>& files,
                   std::map<std::string, std::string>& cache);

/// The libraries among mapped files; of each path one.
std::vector<Library> libraries_among(const std::vector<std::string>& files);

/// The value of `name = 'value'` in the text of a Python file; also with a type in between.
std::string python_string(const std::string& text, const std::string& name);

}  // namespace collwatch::processes
