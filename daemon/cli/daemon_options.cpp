// SPDX-License-Identifier: Apache-2.0
//
// --config, --help, --version, and every configuration key as a flag.
#include "daemon/cli/daemon_options.h"

#include <iostream>
#include <string>
#include <vector>

#include "daemon/config/key_flags.h"

namespace collwatch::cli {
namespace {

constexpr const char* kHelp =
    R"(collwatchd watches the collectives of this node and its peers, and names who broke them.

usage: collwatchd --config FILE [--section.key VALUE]...
       collwatchd --help | --version

Every key of the configuration can be given as a flag (--probes.edge.interval 2s) or as an
environment variable (COLLWATCH_PROBES__EDGE__INTERVAL=2s); lists are comma-separated. Flag beats
environment beats file. `collwatch config init --peers a,b` writes a first configuration,
`collwatch config check FILE` checks one.

SIGHUP reloads the configuration; SIGTERM leaves the ring and stops.
Exit status: 0 stopped, 1 failed at run time, 2 bad configuration or usage.
)";

}  // namespace

DaemonOptions parse_daemon_options(int argc, char** argv) {
  const std::vector<std::string> arguments(argv + (argc > 0 ? 1 : 0), argv + argc);
  DaemonOptions options;
  for (const std::string& argument : arguments) {
    if (argument == "--help" || argument == "-h") {
      std::cout << kHelp;
      options.exit_code = 0;
      return options;
    }
    if (argument == "--version") {
      std::cout << "collwatchd " COLLWATCH_VERSION "\n";
      options.exit_code = 0;
      return options;
    }
  }
  auto flags = config::parse_key_flags(arguments, {"config", "help", "version"});
  if (!flags) {
    std::cerr << "collwatchd: " << flags.error().text << "\n(collwatchd --help lists the usage)\n";
    options.exit_code = 2;
    return options;
  }
  options.sources.file = (*flags)["config"];
  flags->erase("config");
  options.sources.flags = std::move(*flags);
  options.sources.environment = config::process_environment();
  return options;
}

}  // namespace collwatch::cli
