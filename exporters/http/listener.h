// SPDX-License-Identifier: Apache-2.0
//
// A listening TCP socket from a host and a port, or one sentence why not. Made here rather than by
// the HTTP library, which would only say "no". Used by server.cpp at start.
#pragma once

#include <cstdint>
#include <string>

#include "probes/model/result.h"

namespace collwatch::exporters {

struct Listener {
  int fd = -1;             ///< non-blocking, close-on-exec; the caller closes it
  std::uint16_t port = 0;  ///< the one that was bound, also where 0 was asked for
};

/// `host`: a name, a numeric address (IPv6 with or without brackets), or "" for all. "::" listens
/// for IPv4 too.
model::Result<Listener> listen_on(const std::string& host, std::uint16_t port);

}  // namespace collwatch::exporters
