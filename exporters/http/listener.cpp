// SPDX-License-Identifier: Apache-2.0
//
// getaddrinfo, then the first address that can be bound; the error told is that of the last one.
#include "exporters/http/listener.h"

#include <netdb.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <memory>

namespace collwatch::exporters {
namespace {

constexpr int kBacklog = 512;

std::string without_brackets(const std::string& host) {
  const bool bracketed = host.size() >= 2 && host.front() == '[' && host.back() == ']';
  return bracketed ? host.substr(1, host.size() - 2) : host;
}

std::string shown(const std::string& host, std::uint16_t port) {
  const bool is_ipv6 = host.find(':') != std::string::npos;
  return (is_ipv6 ? "[" + host + "]" : host) + ":" + std::to_string(port);
}

/// A listening socket on this address, or -1 with errno.
int open_socket(const addrinfo& address) {
  const int type = address.ai_socktype | SOCK_CLOEXEC | SOCK_NONBLOCK;
  const int fd = ::socket(address.ai_family, type, address.ai_protocol);
  if (fd < 0) return -1;
  const int on = 1;
  const int off = 0;
  ::setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
  if (address.ai_family == AF_INET6) {
    ::setsockopt(fd, IPPROTO_IPV6, IPV6_V6ONLY, &off, sizeof off);
  }
  if (::bind(fd, address.ai_addr, address.ai_addrlen) == 0 && ::listen(fd, kBacklog) == 0) {
    return fd;
  }
  const int error = errno;
  ::close(fd);
  errno = error;
  return -1;
}

std::uint16_t bound_port(int fd) {
  sockaddr_storage address{};
  socklen_t length = sizeof address;
  if (::getsockname(fd, reinterpret_cast<sockaddr*>(&address), &length) != 0) return 0;
  const bool is_ipv6 = address.ss_family == AF_INET6;
  return ntohs(is_ipv6 ? reinterpret_cast<const sockaddr_in6&>(address).sin6_port
                       : reinterpret_cast<const sockaddr_in&>(address).sin_port);
}

}  // namespace

model::Result<Listener> listen_on(const std::string& host_text, std::uint16_t port) {
  const std::string host = without_brackets(host_text);
  const std::string what = "cannot listen on " + shown(host, port);

  addrinfo hints{};
  hints.ai_socktype = SOCK_STREAM;
  hints.ai_flags = AI_PASSIVE | AI_NUMERICSERV;
  addrinfo* found = nullptr;
  const char* node = host.empty() ? nullptr : host.c_str();
  const int error = ::getaddrinfo(node, std::to_string(port).c_str(), &hints, &found);
  if (error != 0) {
    return model::fail(model::ErrorCode::invalid_argument, what + ": " + ::gai_strerror(error));
  }
  const std::unique_ptr<addrinfo, void (*)(addrinfo*)> addresses(found, ::freeaddrinfo);

  int last_error = 0;
  for (const addrinfo* address = addresses.get(); address != nullptr; address = address->ai_next) {
    const int fd = open_socket(*address);
    if (fd >= 0) return Listener{fd, bound_port(fd)};
    last_error = errno;
  }
  return model::fail(model::from_errno(what, last_error));
}

}  // namespace collwatch::exporters
