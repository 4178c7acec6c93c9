// SPDX-License-Identifier: Apache-2.0
//
// THE list of configuration keys: name, kind of value, meaning, how it gets into Config and back
// out as text. Loading, flags, environment, printing, suggestions, configs/collwatch.yaml and
// docs/configuration.md all come from it, so that a key is spelled once. Pure; built once.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "daemon/config/config.h"
#include "daemon/config/tree.h"

namespace collwatch::config {

/// How a key's value is reported on while it is applied; `line` as in Tree.
struct Report {
  std::function<void(int line, const std::string& text)> complain;
  std::function<void(int line, const std::string& text)> warn;
};

struct Key {
  std::string name;     ///< "probes.edge.interval"
  std::string unit;     ///< what a value is, for people: "duration", "list of sizes", ...
  std::string meaning;  ///< one line
  bool built = true;    ///< false: only `off` (and `tolerated`) is accepted in this version
  bool is_list = false;
  bool is_path = false;  ///< relative ones in a file are relative to that file's folder
  std::string off;       ///< unbuilt: the value that switches it off, as `show` prints it
  std::vector<std::string> tolerated;  ///< unbuilt: accepted too, with a warning
  std::function<void(const Tree&, Config&, const Report&)> apply;
  std::function<std::string(const Config&)> show;  ///< one line of YAML
};

/// In the order of the manual: sections together.
const std::vector<Key>& keys();
const Key* find_key(const std::string& name);
/// True for "probes" and "probes.edge".
bool is_section(const std::string& name);
std::vector<std::string> key_names();
std::vector<std::string> key_and_section_names();

/// COLLWATCH_PROBES__EDGE__INTERVAL for probes.edge.interval.
std::string environment_name(const std::string& key);

/// `text` as one YAML scalar, quoted where needed.
std::string yaml_scalar(const std::string& text);

}  // namespace collwatch::config
