// SPDX-License-Identifier: Apache-2.0
//
// Which files the processes of this host hold open, from /proc, without touching the files: of a
// folder that a whole cluster shares an agent reads what its own node writes. Processes of other
// users are seen only with the right to.
#pragma once

#include <set>
#include <string>

namespace collwatch::follow {

std::set<std::string> files_open_here();

}  // namespace collwatch::follow
