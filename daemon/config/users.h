// SPDX-License-Identifier: Apache-2.0
//
// The file that http.auth_file names: a line is user:hash, blank lines and lines that begin with #
// are nothing. Pure; hashes appear in no message.
#pragma once

#include <string>
#include <vector>

#include "daemon/config/config.h"
#include "probes/model/result.h"

namespace collwatch::config {

/// `path` is for messages, which are whole: "path:3: ...".
model::Result<std::vector<Config::Http::User>> parse_users(const std::string& text,
                                                           const std::string& path);

}  // namespace collwatch::config
