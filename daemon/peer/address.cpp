// SPDX-License-Identifier: Apache-2.0
//
// getaddrinfo, inet_ntop and the two names of a socket.
#include "daemon/peer/address.h"

#include <arpa/inet.h>
#include <netdb.h>
#include <netinet/in.h>

#include <array>
#include <cerrno>
#include <cstring>

#include "daemon/peer/socket.h"

namespace collwatch::peer {

namespace {

template <typename Sockaddr>
Sockaddr as(const sockaddr_storage& storage) {
  Sockaddr out{};
  std::memcpy(&out, &storage, sizeof(out));
  return out;
}

template <typename Sockaddr>
Address from(const Sockaddr& sockaddr) {
  Address address;
  std::memcpy(&address.storage, &sockaddr, sizeof(sockaddr));
  address.length = sizeof(sockaddr);
  return address;
}

using NameCall = int (*)(int, sockaddr*, socklen_t*);

model::Result<Address> name_of(int fd, NameCall call, const char* what) {
  Address address;
  address.length = sizeof(address.storage);
  if (call(fd, reinterpret_cast<sockaddr*>(&address.storage), &address.length) != 0) {
    return model::fail(model::from_errno(what, errno));
  }
  return unmapped(address);
}

}  // namespace

std::uint16_t Address::port() const {
  if (family() == AF_INET) return ntohs(as<sockaddr_in>(storage).sin_port);
  if (family() == AF_INET6) return ntohs(as<sockaddr_in6>(storage).sin6_port);
  return 0;
}

std::string Address::host() const {
  const Address plain = unmapped(*this);
  // Room for "%<zone>", which a link-local address is useless without.
  std::array<char, NI_MAXHOST> text{};
  if (!plain.valid() || getnameinfo(reinterpret_cast<const sockaddr*>(&plain.storage), plain.length,
                                    text.data(), text.size(), nullptr, 0, NI_NUMERICHOST) != 0) {
    return "";
  }
  return text.data();
}

std::string Address::text() const {
  const std::string shown = host();
  const bool brackets = shown.find(':') != std::string::npos;
  return (brackets ? "[" + shown + "]" : shown) + ":" + std::to_string(port());
}

bool Address::is_loopback() const {
  const Address plain = unmapped(*this);
  if (plain.family() == AF_INET) {
    return ntohl(as<sockaddr_in>(plain.storage).sin_addr.s_addr) >> 24U == 127;
  }
  const auto v6 = as<sockaddr_in6>(plain.storage);
  return plain.family() == AF_INET6 && IN6_IS_ADDR_LOOPBACK(&v6.sin6_addr);
}

model::Result<Address> resolve(const config::Endpoint& endpoint, int family) {
  addrinfo hints{};
  hints.ai_family = family;
  hints.ai_socktype = SOCK_STREAM;
  hints.ai_flags = AI_NUMERICSERV;
  addrinfo* found = nullptr;
  const std::string port = std::to_string(endpoint.port);
  const int rc = getaddrinfo(endpoint.host.c_str(), port.c_str(), &hints, &found);
  if (rc != 0) {
    const std::string what = "cannot resolve '" + endpoint.host + "'";
    if (rc == EAI_SYSTEM) return model::fail(model::from_errno(what, errno));
    return model::fail(model::ErrorCode::not_found, what + ": " + gai_strerror(rc));
  }
  Address address;
  std::memcpy(&address.storage, found->ai_addr, found->ai_addrlen);
  address.length = found->ai_addrlen;
  freeaddrinfo(found);
  return address;
}

model::Result<Address> local_address(int fd) {
  return name_of(fd, getsockname, "getsockname");
}

model::Result<Address> remote_address(int fd) {
  return name_of(fd, getpeername, "getpeername");
}

Address unmapped(const Address& address) {
  if (address.family() != AF_INET6) return address;
  const auto v6 = as<sockaddr_in6>(address.storage);
  if (!IN6_IS_ADDR_V4MAPPED(&v6.sin6_addr)) return address;
  sockaddr_in v4{};
  v4.sin_family = AF_INET;
  v4.sin_port = v6.sin6_port;
  std::memcpy(&v4.sin_addr, &v6.sin6_addr.s6_addr[12], sizeof(v4.sin_addr));
  return from(v4);
}

Address for_family(const Address& address, int family) {
  if (family != AF_INET6) return unmapped(address);
  if (address.family() != AF_INET) return address;
  const auto v4 = as<sockaddr_in>(address.storage);
  sockaddr_in6 v6{};
  v6.sin6_family = AF_INET6;
  v6.sin6_port = v4.sin_port;
  v6.sin6_addr.s6_addr[10] = 0xff;
  v6.sin6_addr.s6_addr[11] = 0xff;
  std::memcpy(&v6.sin6_addr.s6_addr[12], &v4.sin_addr, sizeof(v4.sin_addr));
  return from(v6);
}

}  // namespace collwatch::peer
