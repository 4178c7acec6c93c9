// SPDX-License-Identifier: Apache-2.0
//
// connect() on a UDP socket makes the kernel choose a route and a source address; nothing is sent.
#include "daemon/agent/route.h"

#include <arpa/inet.h>
#include <ifaddrs.h>
#include <netinet/in.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

namespace collwatch::agent {

using model::Result;

void set_port(peer::Address& address, std::uint16_t port) {
  if (address.family() == AF_INET) {
    reinterpret_cast<sockaddr_in*>(&address.storage)->sin_port = htons(port);
  } else if (address.family() == AF_INET6) {
    reinterpret_cast<sockaddr_in6*>(&address.storage)->sin6_port = htons(port);
  }
}

Result<peer::Address> interface_address(const std::string& interface, int family) {
  ifaddrs* list = nullptr;
  if (getifaddrs(&list) != 0) return model::fail(model::from_errno("getifaddrs", errno));
  peer::Address found;
  for (const ifaddrs* entry = list; entry != nullptr && !found.valid(); entry = entry->ifa_next) {
    if (entry->ifa_addr == nullptr || interface != entry->ifa_name) continue;
    if (entry->ifa_addr->sa_family != family) continue;
    found.length = family == AF_INET ? sizeof(sockaddr_in) : sizeof(sockaddr_in6);
    std::memcpy(&found.storage, entry->ifa_addr, found.length);
  }
  freeifaddrs(list);
  if (found.valid()) return found;
  return model::fail(
      model::ErrorCode::not_found,
      "interface " + interface + " has no " + (family == AF_INET ? "IPv4" : "IPv6") + " address");
}

peer::Address bind_address(const config::Config& config, const peer::Address& to) {
  if (to.is_loopback()) return {};
  if (config.network.address != "auto") {
    if (auto pinned = peer::resolve({config.network.address, 0}, AF_UNSPEC)) return *pinned;
  }
  if (config.network.interface != "auto") {
    if (auto pinned = interface_address(config.network.interface, to.family())) {
      set_port(*pinned, 0);
      return *pinned;
    }
  }
  return {};
}

Result<peer::Address> local_address_towards(const config::Config& config, const peer::Address& to) {
  if (peer::Address pinned = bind_address(config, to); pinned.valid()) return pinned;
  const int fd = socket(to.family(), SOCK_DGRAM | SOCK_CLOEXEC, 0);
  if (fd < 0) return model::fail(model::from_errno("socket", errno));
  Result<peer::Address> local = model::fail(model::ErrorCode::io, "");
  if (connect(fd, reinterpret_cast<const sockaddr*>(&to.storage), to.length) != 0) {
    local = model::fail(model::from_errno("no route to " + to.host(), errno));
  } else {
    local = peer::local_address(fd);
  }
  ::close(fd);
  if (local) set_port(*local, 0);
  return local;
}

}  // namespace collwatch::agent
