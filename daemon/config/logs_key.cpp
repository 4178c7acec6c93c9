// SPDX-License-Identifier: Apache-2.0
//
// watch.logs: a list whose items are sections of two keys, or globs alone.
#include <algorithm>

#include "daemon/config/glob_shape.h"
#include "daemon/config/key_kinds.h"
#include "daemon/config/suggest.h"
#include "daemon/config/units.h"

namespace collwatch::config {
namespace {

constexpr std::size_t kMostGlobs = 32;
constexpr std::size_t kLongestGlob = 1024;
constexpr std::uint64_t kLeastRate = 1000;
constexpr std::uint64_t kMostRate = 10000000000;

/// "" when it can be a pattern of files, else what is wrong.
std::string problem_of(const std::string& glob) {
  if (glob.empty()) return "needs a glob: the pattern of the log files";
  if (glob.front() != '/')
    return "'" + shown(glob) + "' must begin with / (the daemon has no folder of its own)";
  if (glob.size() > kLongestGlob) return "'" + shown(glob) + "' is longer than 1024 characters";
  for (std::size_t i = 0; i < glob.size(); ++i) {
    if (static_cast<unsigned char>(glob[i]) < 0x20)
      return "'" + shown(glob) + "' has a control character";
    if (glob[i] != '%') continue;
    const char next = i + 1 < glob.size() ? glob[i + 1] : '\0';
    if (next != 'h' && next != '%') {
      return "'" + shown(glob) +
             "': %h is the host name and %% a percent sign; there is nothing else";
    }
    ++i;
  }
  const std::string shape = problem_of_shape(glob);
  return shape.empty() ? "" : "'" + shown(glob) + "' " + shape;
}

/// One key of an item's section; false after a complaint.
bool take(const Tree::Entry& entry, Config::WatchedLog& log, const Report& report) {
  const auto complain = [&](const std::string& text) {
    report.complain(entry.line, text);
    return false;
  };
  if (entry.key != "glob" && entry.key != "max_bytes_per_second") {
    return complain("unknown key '" + shown(entry.key) + "'" +
                    did_you_mean(entry.key, {"glob", "max_bytes_per_second"}));
  }
  if (entry.value.shape != Tree::Shape::text) return complain(entry.key + " must be one value");
  if (entry.key == "glob") {
    log.glob = entry.value.text;
    return true;
  }
  const auto rate = parse_size(entry.value.text);
  if (!rate) return complain(rate.error().text);
  if (*rate < kLeastRate || *rate > kMostRate) {
    return complain("max_bytes_per_second: " + shown(entry.value.text) +
                    " is not between 1000 and 10000000000");
  }
  log.max_bytes_per_second = *rate;
  return true;
}

void apply(const Tree& tree, Config& config, const Report& report) {
  if (tree.shape != Tree::Shape::list) {
    return report.complain(tree.line, "must be a list of {glob, max_bytes_per_second}");
  }
  if (tree.items.size() > kMostGlobs) {
    return report.complain(tree.line, "must list at most 32 globs");
  }
  std::vector<Config::WatchedLog> logs;
  for (const Tree& item : tree.items) {
    Config::WatchedLog log;
    if (item.shape == Tree::Shape::text) {
      log.glob = item.text;
    } else if (item.shape == Tree::Shape::section) {
      for (const Tree::Entry& entry : item.entries) {
        if (!take(entry, log, report)) return;
      }
    } else {
      return report.complain(item.line, "each item must be {glob, max_bytes_per_second} or a glob");
    }
    const std::string problem = problem_of(log.glob);
    if (!problem.empty()) return report.complain(item.line, problem);
    const bool is_twice = std::any_of(logs.begin(), logs.end(),
                                      [&](const auto& other) { return other.glob == log.glob; });
    if (is_twice) return report.complain(item.line, "'" + shown(log.glob) + "' is listed twice");
    logs.push_back(std::move(log));
  }
  config.watch.logs = std::move(logs);
}

}  // namespace

Key logs_key(std::string name, std::string meaning) {
  Key key;
  key.name = std::move(name);
  key.unit = "list of {glob, max_bytes_per_second}";
  key.meaning = std::move(meaning);
  key.is_list = true;
  key.apply = apply;
  key.show = [](const Config& config) {
    std::string text = "[";
    for (const Config::WatchedLog& log : config.watch.logs) {
      if (text.size() > 1) text += ", ";
      text += "{glob: " + yaml_scalar(log.glob) +
              ", max_bytes_per_second: " + format_size(log.max_bytes_per_second) + "}";
    }
    return text + "]";
  };
  return key;
}

}  // namespace collwatch::config
