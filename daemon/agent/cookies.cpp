// SPDX-License-Identifier: Apache-2.0
//
// A cookie is a MAC of the peer's name under a secret of this process: nothing to remember.
#include "daemon/agent/cookies.h"

#include <algorithm>
#include <cstring>

#include "daemon/peer/mac.h"

namespace collwatch::agent {

namespace {
constexpr std::size_t kSecretBytes = 32;
}

Cookies::Cookies() : secret_(peer::random_bytes(kSecretBytes)) {}

std::uint64_t Cookies::for_peer(const std::string& peer) const {
  std::uint64_t cookie = 0;
  std::memcpy(&cookie, peer::hmac_sha256(secret_, peer).data(), sizeof cookie);
  return std::max<std::uint64_t>(cookie, 1);
}

std::uint64_t Cookies::to_show(const std::string& peer) const {
  const auto kept = kept_.find(peer);
  return kept == kept_.end() ? 0 : kept->second;
}

}  // namespace collwatch::agent
