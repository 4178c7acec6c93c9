// SPDX-License-Identifier: Apache-2.0
//
// Opens a log for reading. In folders that users write to a symbolic link may lead anywhere, and an
// agent may read more than they; so a link on the way, whichever part of the path it is, is
// followed only where it was made by root, by the agent's own user, or by the owner of what it
// leads to, who could as well have written the lines. Each part is looked at once, on a descriptor:
// nothing that is exchanged meanwhile gets past the check.
#pragma once

#include <string>

#include "daemon/supervise/unique_fd.h"
#include "probes/model/result.h"

namespace collwatch::follow {

/// A regular file, else ErrorCode::invalid_argument; a link that is not followed is
/// ErrorCode::permission, and the text names the link and not what it leads to.
model::Result<supervise::UniqueFd> open_log(const std::string& path);

}  // namespace collwatch::follow
