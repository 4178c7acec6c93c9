// SPDX-License-Identifier: Apache-2.0
//
// tests/cases/config: X.yaml is a configuration, X.expected what load must say of it, a line each:
// every problem, or "ok" and the warnings. Comment lines "#env: NAME=VALUE" and "#flag: KEY=VALUE"
// in the YAML add those. The machine is always the same: this-host with lo and eth0.
#pragma once

#include <string>
#include <vector>

#include "daemon/config/load.h"

namespace collwatch::test {

/// Names of all cases, sorted.
std::vector<std::string> config_cases();
std::string cases_folder();
std::string read_text(const std::string& path);
/// The sources of one case.
config::Sources case_sources(const std::string& name);
config::Host case_host();

}  // namespace collwatch::test
