// SPDX-License-Identifier: Apache-2.0
//
// A numeric socket address, IPv4 or IPv6, as a value. Names are resolved once by resolve() (the
// daemon calls it off the loop or with numeric input); everything else here never touches DNS.
#pragma once

#include <sys/socket.h>

#include <cstdint>
#include <string>

#include "daemon/config/config.h"
#include "probes/model/result.h"

namespace collwatch::peer {

struct Address {
  sockaddr_storage storage{};
  socklen_t length = 0;

  bool valid() const { return length > 0; }
  int family() const { return storage.ss_family; }
  std::uint16_t port() const;
  /// The numeric host without port; IPv4-mapped IPv6 is shown as IPv4.
  std::string host() const;
  /// "10.0.0.1:9782" or "[fd00::1]:9782".
  std::string text() const;
  bool is_loopback() const;
};

/// getaddrinfo; blocking for names, instant for numeric hosts. `family` AF_UNSPEC, AF_INET,
/// AF_INET6.
model::Result<Address> resolve(const config::Endpoint& endpoint, int family);
/// The local or remote end of a socket.
model::Result<Address> local_address(int fd);
model::Result<Address> remote_address(int fd);

}  // namespace collwatch::peer
