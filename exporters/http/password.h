// SPDX-License-Identifier: Apache-2.0
//
// One password against one hash, by the system's crypt(3). Slow on purpose (milliseconds and
// megabytes, as the hash says): access.cpp calls it on a thread of its own. The only place that
// knows libcrypt.
#pragma once

#include <string>
#include <string_view>

namespace collwatch::exporters {

bool is_password_of(const std::string& password, const std::string& hash);

/// In a time that tells nothing of where the two differ; their sizes are no secret.
bool equal_in_constant_time(std::string_view a, std::string_view b);

}  // namespace collwatch::exporters
