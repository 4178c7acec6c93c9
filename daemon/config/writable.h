// SPDX-License-Identifier: Apache-2.0
//
// Whether a file that the daemon will append to and rotate can be had at a path. Looks only; used
// by load for events.path.
#pragma once

#include <string>

namespace collwatch::config {

/// Why nothing could be written and rotated at `path`, a sentence without a full stop; empty: it
/// could.
std::string why_not_writable(const std::string& path);

}  // namespace collwatch::config
