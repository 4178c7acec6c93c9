// SPDX-License-Identifier: Apache-2.0
//
// How many connections the peer port keeps at once, in all and per remote host, so that neither a
// flood nor one confused client shuts the others out. Pure; used by the server.
#pragma once

#include <cstddef>
#include <map>
#include <string>

namespace collwatch::peer {

class Admission {
 public:
  static constexpr std::size_t kMaxConnections = 256;
  static constexpr std::size_t kMaxPerHost = 16;
  /// Several agents of one host (the demo) share its address; they may not take everything either.
  static constexpr std::size_t kMaxFromOwnHost = 128;

  /// True: counted, and to be given back with leave(). `own_host`: it is this machine.
  bool enter(const std::string& host, bool own_host);
  void leave(const std::string& host);
  std::size_t size() const { return size_; }
  std::size_t held_by(const std::string& host) const;
  /// Whether it is this host's own share that is used up.
  bool is_full(const std::string& host, bool own_host) const;

 private:
  std::size_t size_ = 0;
  std::map<std::string, std::size_t> per_host_;
};

}  // namespace collwatch::peer
