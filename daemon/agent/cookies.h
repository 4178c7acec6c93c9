// SPDX-License-Identifier: Apache-2.0
//
// Who may speak in whose name. The token is shared, so it proves a member and not which; what tells
// members apart is the address that the list gives each. To everybody it meets there an agent hands
// a cookie, and takes later words in that name only with it (or from that address). Whoever holds
// the token but is on no path between the two never sees the cookie. Of the agent's peer half.
#pragma once

#include <cstdint>
#include <map>
#include <string>

namespace collwatch::agent {

class Cookies {
 public:
  Cookies();

  /// What `peer` is to show us; the same all our life, never 0.
  std::uint64_t for_peer(const std::string& peer) const;
  bool is_from(const std::string& peer, std::uint64_t shown) const {
    return shown == for_peer(peer);
  }

  /// What `peer` gave us to show it; 0: nothing yet.
  std::uint64_t to_show(const std::string& peer) const;
  void keep(const std::string& peer, std::uint64_t cookie) {
    if (cookie != 0) kept_[peer] = cookie;
  }
  void forget(const std::string& peer) { kept_.erase(peer); }

 private:
  std::string secret_;
  std::map<std::string, std::uint64_t> kept_;
};

}  // namespace collwatch::agent
