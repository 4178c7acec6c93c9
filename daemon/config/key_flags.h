// SPDX-License-Identifier: Apache-2.0
//
// `--section.key VALUE` on a command line, for collwatchd and `collwatch config`. Small enough to
// need no library, which could not suggest the nearest key. Pure.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "probes/model/result.h"

namespace collwatch::config {

/// "--name VALUE" or "--name=VALUE" for every configuration key, and for the program's `own` names
/// beside them ("config"); anything else is an Error, a usage error. Keys are without the dashes.
model::Result<std::map<std::string, std::string>> parse_key_flags(
    const std::vector<std::string>& arguments, const std::vector<std::string>& own = {});

}  // namespace collwatch::config
