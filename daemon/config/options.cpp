// SPDX-License-Identifier: Apache-2.0
//
// Help and version win over everything else on the line, wrong or not.
#include "daemon/config/options.h"

#include "daemon/config/key_flags.h"

namespace collwatch::config {

model::Result<DaemonOptions> parse_daemon_options(const std::vector<std::string>& arguments) {
  DaemonOptions options;
  for (const std::string& argument : arguments) {
    if (argument == "--help" || argument == "-h") options.help = true;
    if (argument == "--version") options.version = true;
  }
  if (options.help || options.version) return options;
  auto flags = parse_key_flags(arguments, {"config", "help", "version"});
  if (!flags) return model::fail(flags.error());
  options.config_file = (*flags)["config"];
  flags->erase("config");
  options.flags = std::move(*flags);
  return options;
}

std::string daemon_help() {
  return R"(collwatchd watches the collectives of this node and its peers, and names who broke them.

usage: collwatchd --config FILE [--section.key VALUE]...
       collwatchd --help | --version

Every key of the configuration can be given as a flag (--probes.edge.interval 2s) or as an
environment variable (COLLWATCH_PROBES__EDGE__INTERVAL=2s); lists are comma-separated. Flag beats
environment beats file. `collwatch config init --peers a,b` writes a first configuration,
`collwatch config check FILE` checks one.

SIGHUP reloads the configuration; SIGTERM leaves the ring and stops.
Exit status: 0 stopped, 1 failed at run time, 2 bad configuration or usage.
)";
}

}  // namespace collwatch::config
