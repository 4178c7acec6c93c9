// SPDX-License-Identifier: Apache-2.0
//
// gethostname and getifaddrs. Blocks for nothing slower than the kernel; no name is resolved.
#include "daemon/config/host.h"

#include <arpa/inet.h>
#include <ifaddrs.h>
#include <netinet/in.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <optional>

namespace collwatch::config {
namespace {

std::optional<std::string> numeric(const sockaddr* address) {
  std::array<char, INET6_ADDRSTRLEN> text{};
  if (address == nullptr) return std::nullopt;
  const void* bytes = nullptr;
  if (address->sa_family == AF_INET) {
    bytes = &reinterpret_cast<const sockaddr_in*>(address)->sin_addr;
  } else if (address->sa_family == AF_INET6) {
    bytes = &reinterpret_cast<const sockaddr_in6*>(address)->sin6_addr;
  } else {
    return std::nullopt;
  }
  if (inet_ntop(address->sa_family, bytes, text.data(), text.size()) == nullptr) {
    return std::nullopt;
  }
  return std::string(text.data());
}

}  // namespace

model::Result<Host> this_host() {
  Host host;
  std::array<char, 256> name{};
  if (gethostname(name.data(), name.size() - 1) != 0) {
    return model::fail(model::from_errno("host name", errno));
  }
  host.name = name.data();

  ifaddrs* list = nullptr;
  if (getifaddrs(&list) != 0) return model::fail(model::from_errno("network interfaces", errno));
  for (const ifaddrs* entry = list; entry != nullptr; entry = entry->ifa_next) {
    const std::string entry_name = entry->ifa_name;
    auto found = std::find_if(host.interfaces.begin(), host.interfaces.end(),
                              [&](const Interface& i) { return i.name == entry_name; });
    if (found == host.interfaces.end()) {
      host.interfaces.push_back({entry_name, {}});
      found = host.interfaces.end() - 1;
    }
    if (const auto address = numeric(entry->ifa_addr)) found->addresses.push_back(*address);
  }
  freeifaddrs(list);
  return host;
}

}  // namespace collwatch::config
