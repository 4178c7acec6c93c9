// SPDX-License-Identifier: Apache-2.0
//
// What must hold between keys, and between keys and this machine, once each is valid by itself.
// Pure; called by load.
#pragma once

#include <functional>
#include <string>

#include "daemon/config/config.h"
#include "daemon/config/host.h"

namespace collwatch::config {

using Say = std::function<void(const std::string& key, const std::string& text)>;

struct RuleContext {
  const Config& config;
  const Host& host;
  std::function<bool(const std::string& key)> given;  ///< not left at its default
  Say complain;
  Say warn;
};

void check_rules(const RuleContext& context);

}  // namespace collwatch::config
