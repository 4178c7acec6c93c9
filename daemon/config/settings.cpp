// SPDX-License-Identifier: Apache-2.0
//
// Walking the file's sections, matching COLLWATCH_* and flags to keys, and saying what was meant.
#include "daemon/config/settings.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <string_view>

#include "daemon/config/keys.h"
#include "daemon/config/suggest.h"

namespace collwatch::config {
namespace {

/// COLLWATCH_* variables that are not keys: the CLI's default URL and login, and what Kubernetes puts into
/// every pod for a Service named collwatch or collwatch-...
bool is_reserved(const std::string& variable) {
  if (variable == "COLLWATCH_URL" || variable == "COLLWATCH_LOGIN_FILE") return true;
  if (variable.find("_SERVICE_PORT") != std::string::npos) return true;
  if (variable.ends_with("_SERVICE_HOST") || variable.ends_with("_PORT")) return true;
  constexpr std::array<std::string_view, 2> kProtocols = {"_TCP", "_UDP"};
  const std::size_t port = variable.find("_PORT_");
  return port != std::string::npos &&
         std::any_of(kProtocols.begin(), kProtocols.end(), [&](std::string_view protocol) {
           return variable.find(protocol, port) != std::string::npos;
         });
}

bool is_known(const std::string& key) {
  return find_key(key) != nullptr || is_section(key);
}

/// The variable that `variable` was probably meant to be, for any way of joining a key's words.
std::string meant_variable(const std::string& variable) {
  std::string key;
  for (const char c : variable.substr(std::string_view("COLLWATCH_").size())) {
    if (c != '_') {
      key += static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
    } else if (!key.ends_with('.')) {
      key += '.';
    }
  }
  while (key.ends_with('.')) key.pop_back();
  const auto meant = nearest(key, key_names());
  return meant ? "; did you mean " + environment_name(*meant) + "?" : "";
}

/// "a, b,c" to a list of three; "" to none.
Tree comma_list(const std::string& text) {
  Tree list;
  list.shape = Tree::Shape::list;
  std::size_t begin = 0;
  while (begin < text.size()) {
    const std::size_t comma = std::min(text.find(',', begin), text.size());
    std::string item = text.substr(begin, comma - begin);
    item.erase(0, item.find_first_not_of(' '));
    item.erase(item.find_last_not_of(' ') + 1);
    Tree scalar;
    scalar.shape = Tree::Shape::text;
    scalar.text = std::move(item);
    list.items.push_back(std::move(scalar));
    begin = comma + 1;
  }
  return list;
}

}  // namespace

void Settings::complain_in_file(int line, const std::string& key, const std::string& text) {
  problems_.add(file_ + ":" + std::to_string(line) + ": " + key + ": " + text);
}

bool Settings::add_file(const Tree& root) {
  if (root.shape != Tree::Shape::section) {
    problems_.add(file_ + ":" + std::to_string(root.line) +
                  ": not a configuration: keys and values expected");
    return false;
  }
  add_section(root, "");
  return true;
}

void Settings::add_section(const Tree& section, const std::string& prefix) {
  std::map<std::string, int> seen;
  for (const Tree::Entry& entry : section.entries) {
    const std::string key = prefix + entry.key;
    if (const auto [first, fresh] = seen.emplace(entry.key, entry.line); !fresh) {
      complain_in_file(entry.line, shown(key),
                       "duplicate key (first on line " + std::to_string(first->second) + ")");
      continue;
    }
    if (entry.key.find('.') != std::string::npos) {
      // Two spellings of one key would let it be given twice unnoticed.
      complain_in_file(entry.line, shown(key),
                       is_known(key) ? "nest it: a section's keys stand under the section"
                                     : "unknown key" + did_you_mean(key, key_names()));
      continue;
    }
    if (find_key(key) != nullptr) {
      Tree value = entry.value;
      value.line = entry.line;
      settings_[key] = {Setting::From::file, file_, std::move(value)};
      continue;
    }
    if (!is_section(key)) {
      complain_in_file(entry.line, shown(key),
                       "unknown key" + did_you_mean(key, key_and_section_names()));
      continue;
    }
    if (entry.value.shape == Tree::Shape::section) {
      add_section(entry.value, key + ".");
    } else if (entry.value.shape != Tree::Shape::nothing) {
      complain_in_file(entry.line, key, "is a section: put its keys under it");
    }
  }
}

void Settings::add_text(const std::string& key, const std::string& text, Setting::From from,
                        const std::string& source) {
  Tree value;
  if (find_key(key)->is_list) {
    value = comma_list(text);
  } else {
    value.shape = Tree::Shape::text;
    value.text = text;
  }
  settings_[key] = {from, source, std::move(value)};
}

void Settings::add_environment(const std::map<std::string, std::string>& environment) {
  std::map<std::string, std::string> key_of;
  for (const std::string& key : key_names()) key_of[environment_name(key)] = key;
  for (const auto& [variable, text] : environment) {
    if (!variable.starts_with("COLLWATCH_")) continue;
    const auto key = key_of.find(variable);
    if (key != key_of.end()) {
      add_text(key->second, text, Setting::From::environment, variable);
    } else if (!is_reserved(variable)) {
      problems_.add(shown(variable) + ": unknown key" + meant_variable(variable));
    }
  }
}

void Settings::add_flags(const std::map<std::string, std::string>& flags) {
  for (const auto& [key, text] : flags) {
    if (find_key(key) != nullptr) {
      add_text(key, text, Setting::From::flag, "--" + key);
    } else if (is_section(key)) {
      problems_.add("--" + key + ": is a section: name one of its keys");
    } else {
      const auto meant = nearest(key, key_names());
      problems_.add("--" + shown(key) + ": unknown key" +
                    (meant ? "; did you mean --" + *meant + "?" : ""));
    }
  }
}

const Setting* Settings::find(const std::string& key) const {
  const auto found = settings_.find(key);
  return found == settings_.end() ? nullptr : &found->second;
}

std::string Settings::sentence(const std::string& key, int line, const std::string& text) const {
  const Setting* setting = find(key);
  if (setting == nullptr) return (file_.empty() ? "" : file_ + ": ") + key + ": " + text;
  if (setting->from != Setting::From::file) return setting->source + ": " + text;
  return setting->source + ":" + std::to_string(line > 0 ? line : setting->value.line) + ": " +
         key + ": " + text;
}

}  // namespace collwatch::config
