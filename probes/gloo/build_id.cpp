// SPDX-License-Identifier: Apache-2.0
//
// The id is coarser than a version number on purpose: distributions rebuild Gloo without changing
// what travels, and Gloo has said 0.5.0 since 2018 whatever travels.
#include "probes/gloo/build_id.h"

#include <gloo/config.h>
#include <gloo/transport/tcp/address.h>

#include "probes/gloo/mesh.h"
#include "probes/gloo/payload.h"

namespace collwatch::gloo_probe {

std::size_t pair_address_bytes() {
  return ::gloo::transport::tcp::Address().bytes().size();
}

std::string build_id() {
  // The shared-store builds are kept apart from the earlier device listeners although their records
  // look alike: nobody has shown that they understand each other.
  const char* connecting = !kDeviceListener ? "pair-listener"
                           : kSharedStore   ? "device-listener-2"
                                            : "device-listener";
  return "gloo-" + std::to_string(GLOO_VERSION_MAJOR) + "." + std::to_string(GLOO_VERSION_MINOR) +
         "." + std::to_string(GLOO_VERSION_PATCH) + "/" + std::to_string(pair_address_bytes()) +
         "/" + connecting + "/p" + std::to_string(kPayloadVersion);
}

}  // namespace collwatch::gloo_probe
