// SPDX-License-Identifier: Apache-2.0
//
// File, environment and flags to one validated Config. collwatchd calls it at start and at SIGHUP,
// the CLI for `config check` and `config print`. Reads files, the host name and the interface
// list; resolves no names and binds nothing, so it is quick enough for the loop's thread.
#pragma once

#include <map>
#include <optional>
#include <string>

#include "daemon/config/config.h"
#include "daemon/config/host.h"
#include "daemon/config/members.h"
#include "probes/model/result.h"

namespace collwatch::config {

struct Sources {
  std::string file;  ///< may be empty: flags and environment only
  /// All of the environment; only COLLWATCH_* is looked at, and an unknown one is an error.
  std::map<std::string, std::string> environment;
  std::map<std::string, std::string> flags;  ///< key -> value: "probes.edge.interval" -> "2s"
  std::optional<Host> host;                  ///< empty: this machine
  /// A running agent's reload: what only a start can change (events.path) is not tried again, so
  /// that a disk that went read-only does not keep a new member list out.
  bool running = false;
};

/// Flag beats environment beats file beats default. The Error's text holds everything that is
/// wrong, one sentence a line: "collwatch.yaml:12: probes.edge.intervall: unknown key; ...".
model::Result<Config> load(const Sources& sources);

/// The same for a file's bytes; sources.file stands in messages and decides relative paths.
model::Result<Config> load_text(const std::string& yaml, const Sources& sources);

/// This process's environment, for Sources::environment.
std::map<std::string, std::string> process_environment();

/// What a running agent cannot take over from `now`: "listen", "peers.listen", "node",
/// "probes.edge.interval", "network.*", "events". Empty: a reload may apply all of it.
std::vector<std::string> needs_restart(const Config& old, const Config& now);

}  // namespace collwatch::config
