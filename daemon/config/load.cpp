// SPDX-License-Identifier: Apache-2.0
//
// The second half of loading: settings to typed values by the key table, then everything that
// needs more than one key or this machine: node, members, token, interfaces. Contradictions
// between keys are in rules.cpp.
#include "daemon/config/load.h"

#include <unistd.h>

#include <algorithm>
#include <functional>

#include "daemon/config/keys.h"
#include "daemon/config/read_file.h"
#include "daemon/config/rules.h"
#include "daemon/config/settings.h"
#include "daemon/config/units.h"
#include "daemon/config/users.h"
#include "daemon/config/writable.h"
#include "daemon/config/yaml.h"

extern char** environ;

namespace collwatch::config {
namespace {

constexpr std::size_t kMaxTokenBytes = 4096;
constexpr std::size_t kMaxUsersBytes = 65536;
constexpr std::size_t kShortToken = 16;

class Loader {
 public:
  explicit Loader(const Sources& sources) : sources_(sources), settings_(sources.file, problems_) {}

  model::Result<Config> run(const Tree* file) {
    config_.file = sources_.file;
    if (file != nullptr && !settings_.add_file(*file)) return model::fail(problems_.error());
    settings_.add_environment(sources_.environment);
    settings_.add_flags(sources_.flags);
    apply_keys();

    const auto host = sources_.host ? model::Result<Host>(*sources_.host) : this_host();
    if (!host) return model::fail(host.error());
    resolve_node(*host);
    read_members();
    read_token();
    read_users();
    read_fingerprints();
    if (!sources_.running) check_events();
    check_rules({config_, *host,
                 [&](const std::string& key) { return settings_.find(key) != nullptr; },
                 [&](const std::string& key, const std::string& text) {
                   if (!has_broken_neighbour(key)) complain(key, text);
                 },
                 [&](const std::string& key, const std::string& text) { warn(key, 0, text); }});
    if (!problems_.empty()) return model::fail(problems_.error());
    return std::move(config_);
  }

 private:
  void complain(const std::string& key, const std::string& text, int line = 0) {
    problems_.add(settings_.sentence(key, line, text));
  }
  void warn(const std::string& key, int line, const std::string& text) {
    config_.warnings.push_back(settings_.sentence(key, line, text));
  }

  /// Whether a key that begins so kept its default because its value was wrong.
  bool is_broken(const std::string& prefix) const {
    return std::any_of(broken_.begin(), broken_.end(),
                       [&](const std::string& key) { return key.starts_with(prefix); });
  }
  /// Whether a key of the same section kept its default because its value was wrong; a
  /// contradiction with that default would be no news.
  bool has_broken_neighbour(const std::string& key) const {
    const std::string section = key.substr(0, key.rfind('.') + 1);
    return std::any_of(broken_.begin(), broken_.end(), [&](const std::string& other) {
      return other.substr(0, other.rfind('.') + 1) == section;
    });
  }

  void apply_keys() {
    for (const Key& key : keys()) {
      const Setting* setting = settings_.find(key.name);
      if (setting == nullptr) continue;
      Report report;
      report.complain = [&](int line, const std::string& text) {
        complain(key.name, text, line);
        broken_.push_back(key.name);
      };
      report.warn = [&](int line, const std::string& text) { warn(key.name, line, text); };
      if (key.is_path && setting->from == Setting::From::file) {
        key.apply(beside_file(setting->value), config_, report);
      } else {
        key.apply(setting->value, config_, report);
      }
    }
  }

  /// Relative paths in a file belong to its folder, so that a config and its token move together.
  Tree beside_file(Tree path) const {
    const std::size_t slash = sources_.file.rfind('/');
    if (slash != std::string::npos && !path.text.empty() && path.text.front() != '/') {
      path.text = sources_.file.substr(0, slash + 1) + path.text;
    }
    return path;
  }

  void resolve_node(const Host& host) {
    const bool given = settings_.find("node") != nullptr && config_.node != "auto";
    if (!given) config_.node = host.name;
    if (!is_node_name(config_.node)) {
      broken_.emplace_back("node");
      complain("node", "'" + shown(config_.node) +
                           "' is not a node name (letters, digits, '.', "
                           "'_', '-')" +
                           (given ? "" : "; this host's name is not usable: set node:"));
    }
  }

  void read_members() {
    const Setting* listed = settings_.find("membership.static");
    const bool is_listed = listed != nullptr && !listed->value.items.empty();
    if (is_listed && !config_.membership.file.empty()) {
      return complain("membership.file", "static and file are both given: leave one out");
    }
    if (!is_listed && config_.membership.file.empty()) {
      if (!is_broken("membership.")) {
        complain("membership",
                 "missing: list the members in membership.static or name a "
                 "membership.file");
      }
      return;
    }
    if (is_broken("membership.static") || is_broken("node")) return;
    if (is_listed) return check_listed(*listed);
    auto members = load_members(config_.membership.file, config_.node);
    if (!members) {
      // What is wrong inside the file names its own lines; that it cannot be read is this key's.
      if (members.error().code == model::ErrorCode::invalid_argument) {
        return problems_.add(members.error().text);
      }
      return complain("membership.file", members.error().text);
    }
    config_.membership.members = std::move(*members);
    take_own_labels();
  }

  void check_listed(const Setting& listed) {
    auto& members = config_.membership.members;
    for (const MemberProblem& problem : check_members(members, config_.node)) {
      const bool whole = problem.index >= members.size();
      complain("membership.static", problem.text,
               whole ? 0 : listed.value.items[problem.index].line);
    }
    sort_by_name(members);
  }

  /// The member file knows everybody's labels, ours included; a key given as well must agree.
  void take_own_labels() {
    const auto take = [&](const char* label, std::string& own) {
      for (const Member& member : config_.membership.members) {
        const auto found = member.labels.find(label);
        if (member.name != config_.node || found == member.labels.end()) continue;
        if (!own.empty() && own != found->second) {
          complain(std::string("labels.") + label, "'" + own + "' contradicts '" + found->second +
                                                       "' for " + config_.node + " in " +
                                                       config_.membership.file);
        }
        own = found->second;
      }
    };
    take("cluster", config_.labels.cluster);
    take("rack", config_.labels.rack);
    take("rail", config_.labels.rail);
  }

  /// Whether the event log could be opened and rotated here, without touching it.
  void check_events() {
    const std::string& path = config_.events.path;
    if (path.empty()) return;
    if (const std::string why = why_not_writable(path); !why.empty()) complain("events.path", why);
  }

  void read_users() {
    const std::string& path = config_.http.auth_file;
    if (path.empty()) return;
    const auto file = read_file(path, kMaxUsersBytes);
    if (!file) return complain("http.auth_file", file.error().text);
    if ((file->mode & 0006U) != 0) {
      return complain("http.auth_file",
                      path + ": everybody on this host may read or change it; chmod 0600 it");
    }
    auto users = parse_users(file->bytes, path);
    if (!users) return problems_.add(users.error().text);
    config_.http.users = std::move(*users);
  }

  /// What it says is the watcher's to understand; `config check` tries it.
  void read_fingerprints() {
    const std::string& path = config_.watch.fingerprints;
    if (path.empty()) return;
    const auto file = read_file(path, kMaxFileBytes);
    if (!file) return complain("watch.fingerprints", file.error().text);
    config_.watch.fingerprints_hash = std::hash<std::string>{}(file->bytes);
  }

  void read_token() {
    const std::string& path = config_.peers.token_file;
    if (path.empty()) {
      if (!config_.peers.insecure && !is_loopback_host(config_.peers.listen.host) &&
          !is_broken("peers.")) {
        complain("peers.token_file",
                 "needed because peers.listen is " + format_endpoint(config_.peers.listen) +
                     ", not loopback: name a file with the shared token, or set peers.insecure: "
                     "true");
      }
      return;
    }
    const auto file = read_file(path, kMaxTokenBytes);
    if (!file) return complain("peers.token_file", file.error().text);
    std::string token = file->bytes;
    token.erase(token.find_last_not_of(" \t\r\n") + 1);
    if (token.empty()) return complain("peers.token_file", path + ": empty");
    if (token.size() < kShortToken) {
      warn("peers.token_file", 0, path + ": fewer than 16 characters can be guessed");
    }
    if ((file->mode & 0004U) != 0) {
      warn("peers.token_file", 0, path + ": readable by everybody on this host; chmod 0600 it");
    }
    config_.peers.token = std::move(token);
  }

  const Sources& sources_;
  Problems problems_;
  Settings settings_;
  Config config_;
  std::vector<std::string> broken_;  ///< keys already complained about, which kept their default
};

}  // namespace

model::Result<Config> load_text(const std::string& yaml, const Sources& sources) {
  const auto tree = parse_yaml(yaml, sources.file);
  if (!tree) return model::fail(tree.error());
  return Loader(sources).run(&*tree);
}

model::Result<Config> load(const Sources& sources) {
  if (sources.file.empty()) return Loader(sources).run(nullptr);
  const auto bytes = read_file(sources.file, kMaxFileBytes);
  if (!bytes) return model::fail(bytes.error());
  return load_text(bytes->bytes, sources);
}

std::map<std::string, std::string> process_environment() {
  std::map<std::string, std::string> variables;
  for (char** entry = environ; entry != nullptr && *entry != nullptr; ++entry) {
    const std::string text = *entry;
    const std::size_t equals = text.find('=');
    if (equals != std::string::npos) variables[text.substr(0, equals)] = text.substr(equals + 1);
  }
  return variables;
}

std::vector<std::string> needs_restart(const Config& old, const Config& now) {
  std::vector<std::string> keys;
  if (old.node != now.node) keys.emplace_back("node");
  if (old.listen != now.listen) keys.emplace_back("listen");
  if (old.peers.listen != now.peers.listen) keys.emplace_back("peers.listen");
  // Rounds are numbered by the interval: all agents change it together, by a restart.
  if (old.edge.interval != now.edge.interval) keys.emplace_back("probes.edge.interval");
  // Edges and names hold on to the addresses they were made with.
  if (old.network.interface != now.network.interface) keys.emplace_back("network.interface");
  if (old.network.family != now.network.family) keys.emplace_back("network.family");
  if (old.network.address != now.network.address) keys.emplace_back("network.address");
  if (old.events.path != now.events.path || old.events.max_bytes != now.events.max_bytes) {
    keys.emplace_back("events");
  }
  return keys;
}

}  // namespace collwatch::config
