// SPDX-License-Identifier: Apache-2.0
//
// Nested YAML from the flat key table: a section's header when the first of its keys comes.
#include "daemon/config/print.h"

#include <algorithm>
#include <vector>

#include "daemon/config/keys.h"

namespace collwatch::config {
namespace {

constexpr std::size_t kColumns = 96;

constexpr const char* kManualHead =
    R"(# collwatch's configuration: every key, its kind of value and its default. Copy what you change.
#
# A key can also be given to collwatchd as --section.key VALUE or as the environment variable
# COLLWATCH_SECTION__KEY; lists are then comma-separated. Flag beats environment beats file.
# Durations: 500ms, 1s, 5m, 1h. Sizes: 4, 1KiB, 64MiB, 20MB. Relative paths in this file are
# relative to its folder. SIGHUP reloads; a bad file keeps the running configuration.
# Check yours with: collwatch config check FILE
#
# Keys marked "Not in this version" are known, but accept only the value shown, which leaves that
# part off.
)";

std::vector<std::string> split(const std::string& key) {
  std::vector<std::string> parts;
  std::size_t begin = 0;
  while (begin <= key.size()) {
    const std::size_t dot = std::min(key.find('.', begin), key.size());
    parts.push_back(key.substr(begin, dot - begin));
    begin = dot + 1;
  }
  return parts;
}

/// `text` as comment lines, wrapped.
std::string comment(const std::string& text, const std::string& indent) {
  std::string out;
  std::string line = indent + "#";
  std::size_t begin = 0;
  while (begin < text.size()) {
    const std::size_t space = std::min(text.find(' ', begin), text.size());
    const std::string word = text.substr(begin, space - begin);
    if (line.size() + 1 + word.size() > kColumns) {
      out += line + "\n";
      line = indent + "#";
    }
    line += " " + word;
    begin = space + 1;
  }
  return out + line + "\n";
}

std::string also_accepted(const Key& key) {
  std::string text;
  for (const std::string& value : key.tolerated) text += ", and " + value + " without effect";
  return text;
}

std::string describe(const Key& key) {
  std::string text = key.meaning + " (" + key.unit + ")";
  if (!key.built) text += " Not in this version" + also_accepted(key) + ".";
  return text;
}

std::string render(const Config& config, bool with_comments) {
  std::string out = with_comments ? kManualHead : "";
  std::vector<std::string> open;  // the sections we are in
  for (const Key& key : keys()) {
    const std::vector<std::string> parts = split(key.name);
    std::size_t shared = 0;
    while (shared < open.size() && shared + 1 < parts.size() && open[shared] == parts[shared]) {
      ++shared;
    }
    open.resize(shared);
    if (with_comments && shared == 0) out += "\n";
    for (std::size_t i = shared; i + 1 < parts.size(); ++i) {
      out += std::string(2 * i, ' ') + parts[i] + ":\n";
      open.push_back(parts[i]);
    }
    const std::string indent(2 * open.size(), ' ');
    if (with_comments) out += comment(describe(key), indent);
    out += indent + parts.back() + ": " + key.show(config) + "\n";
  }
  return out;
}

}  // namespace

std::string print(const Config& config) {
  return render(config, false);
}

std::string manual() {
  return render(Config{}, true);
}

std::string reference_table() {
  const Config defaults;
  std::string out = "| key | value | default | meaning |\n|---|---|---|---|\n";
  for (const Key& key : keys()) {
    out += "| `" + key.name + "` | " + key.unit + " | `" + key.show(defaults) + "` | " +
           key.meaning + (key.built ? "" : " *Not in this version" + also_accepted(key) + ".*") +
           " |\n";
  }
  return out;
}

}  // namespace collwatch::config
