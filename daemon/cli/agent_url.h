// SPDX-License-Identifier: Apache-2.0
//
// Asking an agent: where it is, and what it answers. Used by `collwatch status` and `check`;
// blocks for at most the deadline.
#pragma once

#include <string>

#include "daemon/cli/status_reply.h"
#include "probes/model/result.h"

namespace collwatch::cli {

inline constexpr const char* kDefaultUrl = "http://127.0.0.1:9781";

/// "node-a" and "node-a:9781" become "http://node-a:9781"; a trailing slash goes.
std::string agent_url(const std::string& given);

/// Empty, or why this URL is refused, without repeating it. What looks like a user
/// is a secret that ended up in the wrong place; an @ is enough, since a password
/// may hold the characters that would end it.
std::string why_refused(const std::string& given);

/// The body of GET url + path. An Error is a sentence that says what to do about it.
model::Result<std::string> ask_agent(const std::string& url, const std::string& path);

}  // namespace collwatch::cli
