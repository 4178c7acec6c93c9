// SPDX-License-Identifier: Apache-2.0
//
// collwatchd's command line, and the `--section.key VALUE` overrides that the CLI shares with it.
// Small enough to need no library. Pure.
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

/// Only `--section.key VALUE` or `--section.key=VALUE`; anything else is an Error.
model::Result<std::map<std::string, std::string>> parse_key_flags(
    const std::vector<std::string>& arguments);

}  // namespace collwatch::config
