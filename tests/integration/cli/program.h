// SPDX-License-Identifier: Apache-2.0
//
// Runs the built `collwatch` and keeps what it printed and how it ended.
#pragma once

#include <map>
#include <string>
#include <vector>

namespace collwatch::test {

struct Ran {
  int code = -1;  ///< exit code, or 128 + signal
  std::string out, err;
};

/// `environment` replaces the inherited COLLWATCH_* variables.
Ran run_collwatch(const std::vector<std::string>& arguments,
                  const std::map<std::string, std::string>& environment = {});

/// The same, its standard output being this file, or closed if that is empty.
Ran run_collwatch_onto(const std::string& output, const std::vector<std::string>& arguments);

/// The same with a pipe as standard input; without it the caller's own is inherited.
Ran run_collwatch_with_input(const std::vector<std::string>& arguments, const std::string& input);

}  // namespace collwatch::test
