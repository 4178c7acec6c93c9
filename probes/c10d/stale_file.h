// SPDX-License-Identifier: Apache-2.0
//
// Is there a store of an earlier job where the next one will make its own? torch's FileStore
// appends to what it finds, so ranks read addresses of processes that are gone. Reads, never
// writes.
#pragma once

#include <string>

namespace collwatch::c10d_probe {

/// A sentence, or empty: nothing is there, or an empty file. Whether the job that wrote it still
/// runs cannot be seen from here (it may run on other nodes), and is left to the reader.
std::string describe_stale_file(const std::string& path);

}  // namespace collwatch::c10d_probe
