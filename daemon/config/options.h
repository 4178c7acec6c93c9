// SPDX-License-Identifier: Apache-2.0
//
// collwatchd's command line: --config, --help, --version, and every configuration key as a flag.
// Its main() calls this once, before anything else. Pure.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "probes/model/result.h"

namespace collwatch::config {

struct DaemonOptions {
  std::string config_file;                   ///< empty when not given
  std::map<std::string, std::string> flags;  ///< for Sources::flags
  bool help = false;
  bool version = false;
};

/// `arguments` without the program's name. An Error is a usage error: print it, exit 2.
model::Result<DaemonOptions> parse_daemon_options(const std::vector<std::string>& arguments);

/// What --help prints.
std::string daemon_help();

}  // namespace collwatch::config
