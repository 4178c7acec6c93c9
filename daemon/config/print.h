// SPDX-License-Identifier: Apache-2.0
//
// Config back to text: what is in force (`collwatch config print`), the manual
// (configs/collwatch.yaml) and the reference table of docs/configuration.md. All from the key
// table; pure. The last two are files in the repository that a test compares with these strings.
#pragma once

#include <string>

#include "daemon/config/config.h"

namespace collwatch::config {

/// The effective configuration as YAML that load accepts again. Never the token.
std::string print(const Config& config);

/// configs/collwatch.yaml: every key with its default, a comment line or two above each.
std::string manual();

/// The table in docs/configuration.md: key, value, default, meaning, environment variable.
std::string reference_table();

}  // namespace collwatch::config
