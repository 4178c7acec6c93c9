// SPDX-License-Identifier: Apache-2.0
//
// collwatchd's command line. A library of its own without the CLI's dependencies; main() of the
// daemon calls it once, before anything else.
#pragma once

#include <optional>

#include "daemon/config/load.h"

namespace collwatch::cli {

struct DaemonOptions {
  config::Sources sources;       ///< file and flags as given, the environment of this process
  std::optional<int> exit_code;  ///< set: all is said (help, version, usage error); exit with it
};

/// Prints help and version to stdout, usage errors to stderr (exit code 2).
DaemonOptions parse_daemon_options(int argc, char** argv);

}  // namespace collwatch::cli
