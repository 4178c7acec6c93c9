// SPDX-License-Identifier: Apache-2.0
//
// The first half of loading: which value each key was given, and where. Lays environment over file
// and flags over both, and reports every key that does not exist. Knows no types and no rules
// between keys; those are load's.
#pragma once

#include <map>
#include <string>

#include "daemon/config/tree.h"

namespace collwatch::config {

struct Setting {
  enum class From { file, environment, flag };
  From from = From::file;
  std::string source;  ///< the file, "COLLWATCH_X__Y" or "--x.y"
  Tree value;
};

class Settings {
 public:
  /// `file` may be empty; then problems without a source begin with the key.
  Settings(std::string file, Problems& problems) : file_(std::move(file)), problems_(problems) {}

  /// False when it is no configuration at all, so that nothing else about it is worth saying.
  bool add_file(const Tree& root);
  void add_environment(const std::map<std::string, std::string>& environment);
  void add_flags(const std::map<std::string, std::string>& flags);

  const Setting* find(const std::string& key) const;

  /// "where: key: text" for a complaint about `key`, wherever its value came from; `line` 0 takes
  /// the line of the value.
  std::string sentence(const std::string& key, int line, const std::string& text) const;

 private:
  void add_section(const Tree& section, const std::string& prefix);
  void add_text(const std::string& key, const std::string& text, Setting::From from,
                const std::string& source);
  void complain_in_file(int line, const std::string& key, const std::string& text);

  std::string file_;
  Problems& problems_;
  std::map<std::string, Setting> settings_;
};

}  // namespace collwatch::config
