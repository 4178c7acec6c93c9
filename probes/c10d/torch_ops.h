// SPDX-License-Identifier: Apache-2.0
//
// The files that call libtorch, seen from outside: no type of it, no exception. Everything here
// runs in a disposable child (child_pair.h), for libtorch may abort, crash or hang.
#pragma once

#include <chrono>
#include <string>

#include "probes/c10d/child_pair.h"
#include "probes/c10d/combination.h"

namespace collwatch::c10d_probe {

/// As its header calls itself: "1.13.0". Calls nothing.
std::string torch_version();

/// Whether a tensor can be made on that device: ok, or unavailable with the library's words.
Ending try_device(const std::string& device);

/// One operation between two ranks over a FileStore at `store_path`, its values verified.
Ending try_operation(const Combination& combination, int rank, const std::string& store_path,
                     std::chrono::milliseconds timeout);

/// A group through a TCPStore of rank 0 on 127.0.0.1, and one all_reduce. Rank 0 tells its port.
Ending try_tcp_store(int rank, const Between& between, std::chrono::milliseconds timeout);

/// The same through a FileStore.
Ending try_file_store(int rank, const std::string& path, std::chrono::milliseconds timeout);

}  // namespace collwatch::c10d_probe
