// SPDX-License-Identifier: Apache-2.0
//
// Addresses from getifaddrs, sockets from the kernel's socket diagnosis.
#include "daemon/processes/surroundings.h"

#include <ifaddrs.h>
#include <netinet/in.h>
#include <unistd.h>

#include <array>

#include "daemon/processes/socket_bytes.h"

namespace collwatch::processes {
namespace {

void add_own_addresses(LocalAddresses& addresses) {
  ifaddrs* first = nullptr;
  if (getifaddrs(&first) != 0) return;
  for (const ifaddrs* one = first; one != nullptr; one = one->ifa_next) {
    if (one->ifa_addr == nullptr || one->ifa_name == nullptr) continue;
    if (one->ifa_addr->sa_family == AF_INET) {
      const auto* in = reinterpret_cast<const sockaddr_in*>(one->ifa_addr);
      addresses.add(address_text(reinterpret_cast<const unsigned char*>(&in->sin_addr), 4),
                    one->ifa_name);
    } else if (one->ifa_addr->sa_family == AF_INET6) {
      const auto* in = reinterpret_cast<const sockaddr_in6*>(one->ifa_addr);
      addresses.add(address_text(reinterpret_cast<const unsigned char*>(&in->sin6_addr), 16),
                    one->ifa_name);
    }
  }
  freeifaddrs(first);
}

}  // namespace

Surroundings real_surroundings() {
  Surroundings here;
  here.ticks_per_second = static_cast<double>(::sysconf(_SC_CLK_TCK));
  here.own_sockets = sockets_with_bytes;
  here.own_addresses = add_own_addresses;
  std::array<char, 256> name{};
  if (::gethostname(name.data(), name.size() - 1) == 0) here.host_name = name.data();
  here.own_pid = ::getpid();
  return here;
}

}  // namespace collwatch::processes
