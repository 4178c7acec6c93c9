// SPDX-License-Identifier: Apache-2.0
//
// `config check` and `config print`: what collwatchd would make of this file here, with this
// environment; `config check` also takes a file of fingerprints. init is in init.cpp.
#include <algorithm>
#include <iostream>

#include "daemon/catalogue/catalogue.h"
#include "daemon/cli/catalogue_files.h"
#include "daemon/cli/commands.h"
#include "daemon/cli/terminal.h"
#include "daemon/config/key_flags.h"
#include "daemon/config/load.h"
#include "daemon/config/print.h"
#include "daemon/config/units.h"
#include "daemon/config/yaml.h"

namespace collwatch::cli {
namespace {

/// Prints what is wrong; a Config only if nothing is.
model::Result<config::Config> load_and_tell(const std::string& file,
                                            const std::vector<std::string>& key_flags) {
  config::Sources sources;
  sources.file = file;
  sources.environment = config::process_environment();
  auto flags = config::parse_key_flags(key_flags);
  if (!flags) {
    std::cerr << flags.error().text << "\n";
    return model::fail(flags.error());
  }
  sources.flags = std::move(*flags);
  auto config = config::load(sources);
  if (!config) {
    std::cerr << config.error().text << "\n";
    return config;
  }
  for (const std::string& warning : config->warnings) std::cerr << "warning: " << warning << "\n";
  return config;
}

/// Told by its only key. A file that cannot be read is left to those who say why.
bool is_fingerprints_file(const std::string& file) {
  const auto tree = config::read_yaml(file);
  return tree &&
         std::any_of(tree->entries.begin(), tree->entries.end(),
                     [](const config::Tree::Entry& entry) { return entry.key == "fingerprints"; });
}

/// Nothing of either kind stands in it.
bool holds_nothing(const std::string& file) {
  const auto tree = config::read_yaml(file);
  return tree && tree->entries.empty();
}

int check_fingerprints(const std::string& file) {
  const auto tree = config::read_yaml(file);
  for (const config::Tree::Entry& entry : tree->entries) {
    if (entry.key != "fingerprints" || entry.value.shape != config::Tree::Shape::list ||
        !entry.value.items.empty())
      continue;
    complain(file + ":" + std::to_string(entry.line) + ": fingerprints: the list is empty");
    return kUsageError;
  }
  const auto built_in = catalogue_with({});
  const auto merged = catalogue_with({file});
  const auto slow = merged ? slow_patterns(*merged)
                           : model::Result<std::vector<std::string>>(model::fail(merged.error()));
  if (!built_in || !slow) {
    std::cerr << (built_in ? slow.error().text : built_in.error().text) << "\n";
    return kUsageError;
  }
  for (const std::string& id : *slow) {
    std::cerr << "warning: " << file << ": pattern '" << id
              << "' holds no word of five letters to search for: it is tried on every line\n";
  }
  std::cout << file << ": ok: fingerprints, "
            << merged->patterns().size() - built_in->patterns().size() << " new patterns\n";
  return 0;
}

}  // namespace

int run_config_check(const std::string& file, const std::vector<std::string>& key_flags) {
  if (key_flags.empty() && is_fingerprints_file(file)) return check_fingerprints(file);
  const auto config = load_and_tell(file, key_flags);
  if (!config) {
    if (holds_nothing(file)) {
      complain(file +
               ": holds nothing: a configuration needs at least its members, a file of "
               "fingerprints begins with 'fingerprints:'");
    }
    return kUsageError;
  }
  const std::string& own = config->watch.fingerprints;
  if (!own.empty() && check_fingerprints(own) != 0) return kUsageError;
  std::cout << file << ": ok: node " << config->node << " of " << config->membership.members.size()
            << ", status on " << config::format_endpoint(config->listen) << ", peers on "
            << config::format_endpoint(config->peers.listen) << "\n";
  return 0;
}

int run_config_print(const std::string& file, const std::vector<std::string>& key_flags) {
  const auto config = load_and_tell(file, key_flags);
  if (!config) return kUsageError;
  std::cout << config::print(*config);
  return 0;
}

}  // namespace collwatch::cli
