// SPDX-License-Identifier: Apache-2.0
//
// One pass over the arguments; every flag that takes a value takes it as the next argument or
// after '='.
#include "daemon/config/options.h"

#include <algorithm>

#include "daemon/config/keys.h"
#include "daemon/config/suggest.h"
#include "daemon/config/tree.h"

namespace collwatch::config {
namespace {

tl::unexpected<model::Error> usage(const std::string& text) {
  return model::fail(model::ErrorCode::invalid_argument, text);
}

std::string unknown_flag(const std::string& name, const std::vector<std::string>& own) {
  std::vector<std::string> known = own;
  for (const std::string& key : key_names()) known.push_back(key);
  const auto meant = nearest(name, known);
  return "--" + shown(name) + ": unknown key" + (meant ? "; did you mean --" + *meant + "?" : "");
}

/// Splits "--name", "value" and "--name=value"; `own` are the names that are no keys.
model::Result<std::map<std::string, std::string>> parse_values(
    const std::vector<std::string>& arguments, const std::vector<std::string>& own) {
  std::map<std::string, std::string> values;
  for (std::size_t i = 0; i < arguments.size(); ++i) {
    const std::string& argument = arguments[i];
    if (!argument.starts_with("--") || argument.size() == 2) {
      return usage("'" + shown(argument) + "': unexpected; write --section.key VALUE");
    }
    const std::size_t equals = argument.find('=');
    const std::string name = argument.substr(2, equals == std::string::npos ? equals : equals - 2);
    const bool is_own = std::find(own.begin(), own.end(), name) != own.end();
    if (!is_own && find_key(name) == nullptr) return usage(unknown_flag(name, own));
    std::string value;
    if (equals != std::string::npos) {
      value = argument.substr(equals + 1);
    } else if (i + 1 < arguments.size() && !arguments[i + 1].starts_with("--")) {
      value = arguments[++i];
    } else {
      return usage("--" + name + ": needs a value");
    }
    if (!values.emplace(name, value).second) return usage("--" + name + ": given twice");
  }
  return values;
}

}  // namespace

model::Result<std::map<std::string, std::string>> parse_key_flags(
    const std::vector<std::string>& arguments) {
  return parse_values(arguments, {});
}

model::Result<DaemonOptions> parse_daemon_options(const std::vector<std::string>& arguments) {
  DaemonOptions options;
  for (const std::string& argument : arguments) {
    if (argument == "--help" || argument == "-h") options.help = true;
    if (argument == "--version") options.version = true;
  }
  if (options.help || options.version) return options;
  auto values = parse_values(arguments, {"config", "help", "version"});
  if (!values) return model::fail(values.error());
  options.config_file = (*values)["config"];
  values->erase("config");
  options.flags = std::move(*values);
  return options;
}

std::string daemon_help() {
  return R"(collwatchd: watches the collectives of this node and its peers, and names who broke them.

usage: collwatchd --config FILE [--section.key VALUE]...
       collwatchd --help | --version

Every key of the configuration can be given as a flag (--probes.edge.interval 2s) or as an
environment variable (COLLWATCH_PROBES__EDGE__INTERVAL=2s); lists are comma-separated. Flag beats
environment beats file. `collwatch config init --peers a,b` writes a first configuration,
`collwatch config check FILE` checks one.

SIGHUP reloads the configuration, SIGTERM leaves the ring and stops.
Exit status: 0 stopped, 1 failed at run time, 2 bad configuration or usage.
)";
}

}  // namespace collwatch::config
