// SPDX-License-Identifier: Apache-2.0
//
// One bounded read of a small regular file (configuration, member list, token). Never blocks on a
// FIFO or device that somebody put at the path. Used by load at start and on reload.
#pragma once

#include <cstddef>
#include <string>

#include "probes/model/result.h"

namespace collwatch::config {

struct FileBytes {
  std::string bytes;
  unsigned mode = 0;  ///< permission bits
};

/// Errors begin with the path: "x.yaml: cannot be read: No such file or directory".
model::Result<FileBytes> read_file(const std::string& path, std::size_t most_bytes);

}  // namespace collwatch::config
