// SPDX-License-Identifier: Apache-2.0
//
// One pass over the arguments; a value is the next argument or what follows '='.
#include "daemon/config/key_flags.h"

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

}  // namespace

model::Result<std::map<std::string, std::string>> parse_key_flags(
    const std::vector<std::string>& arguments, const std::vector<std::string>& own) {
  std::map<std::string, std::string> values;
  for (std::size_t i = 0; i < arguments.size(); ++i) {
    const std::string& argument = arguments[i];
    if (!argument.starts_with("--") || argument.size() == 2) {
      return usage("'" + shown(argument) + "': unexpected; write --section.key VALUE");
    }
    const std::size_t equals = std::min(argument.find('='), argument.size());
    const std::string name = argument.substr(2, equals - 2);
    const bool is_own = std::find(own.begin(), own.end(), name) != own.end();
    if (!is_own && find_key(name) == nullptr) return usage(unknown_flag(name, own));
    std::string value;
    if (equals < argument.size()) {
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

}  // namespace collwatch::config
