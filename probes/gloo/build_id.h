// SPDX-License-Identifier: Apache-2.0
//
// Which Gloo this worker was built with, as far as others must know: builds of different ids cannot
// share a context (they read each other's records wrongly or wait for a handshake that never
// comes), so agents compare ids before any Gloo byte flows. Told by what the headers offer, never
// by the distribution.
#pragma once

#include <cstddef>
#include <string>

namespace collwatch::gloo_probe {

/// e.g. "gloo-0.5.0/136/pair-listener/p1": version, bytes of a pair's address, how a connection
/// finds its pair, our payload version.
std::string build_id();

/// Bytes of a pair's address as the loaded library writes it.
std::size_t pair_address_bytes();

/// Since 2023 a device listens for all its pairs, and callers say which pair they want.
#if __has_include(<gloo/transport/tcp/listener.h>)
inline constexpr bool kDeviceListener = true;
#else
inline constexpr bool kDeviceListener = false;
#endif

}  // namespace collwatch::gloo_probe
