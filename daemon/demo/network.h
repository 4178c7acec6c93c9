// SPDX-License-Identifier: Apache-2.0
//
// Which addresses the laboratory uses: an IPv4 /24 or an IPv6 /64 of its own. Pure; given to the
// fabric, and asked by whoever writes rules or member lists.
#pragma once

#include <sys/socket.h>

#include <array>
#include <string>

#include "probes/model/result.h"

namespace collwatch::demo {

class Network {
 public:
  /// 10.83.0.0/24
  Network();
  /// "192.168.83.0/24", "fd83::/64". The error is a sentence that quotes the text.
  static model::Result<Network> parse(const std::string& text);

  bool ipv6() const { return family_ == AF_INET6; }
  int length() const { return ipv6() ? 64 : 24; }  ///< of the prefix, in bits
  std::string host(int number) const;              ///< "10.83.0.12"; 1 to 254

 private:
  int family_ = AF_INET;
  std::array<unsigned char, 16> bytes_{};  ///< network order, the first four with IPv4
};

/// "10.83.0.12:9782", "[fd83::c]:9782".
std::string endpoint(const std::string& address, int port);

/// What to listen on for all addresses of the same family.
std::string any_address(const std::string& address);

}  // namespace collwatch::demo
