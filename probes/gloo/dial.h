// SPDX-License-Identifier: Apache-2.0
//
// One plain TCP connect before Gloo's own, for builds whose devices share a listener. Two reasons,
// both measured: these builds report every refused or unreachable peer as "no error", and a connect
// of theirs that completes after its deadline writes into a destroyed pair. A dialled port gives
// the real errno and leaves nothing late. (The earlier builds take any caller for the peer, and
// report errno themselves: never dial those.) Blocks its thread until the deadline at most.
#pragma once

#include <sys/socket.h>

#include <chrono>
#include <optional>

#include "probes/gloo/failure.h"

namespace collwatch::gloo_probe {

/// Nothing if somebody listens at `address`; else refused, unreachable, timeout or error.
std::optional<Failure> dial(const sockaddr_storage& address,
                            std::chrono::steady_clock::time_point deadline);

/// "[10.0.0.2]:4711"
std::string to_string(const sockaddr_storage& address);

}  // namespace collwatch::gloo_probe
