// SPDX-License-Identifier: Apache-2.0
//
// The TCP sockets of our network namespace with the bytes that went over each, from the kernel's
// socket diagnosis (what `ss -ti` asks): one dump of the established and the listening ones.
#pragma once

#include <optional>
#include <vector>

#include "daemon/processes/proc_text.h"

namespace collwatch::processes {

/// Nothing where the kernel refuses or does not answer within a second.
std::optional<std::vector<TcpSocket>> sockets_with_bytes();

}  // namespace collwatch::processes
