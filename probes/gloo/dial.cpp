// SPDX-License-Identifier: Apache-2.0
//
// Non-blocking connect, poll, SO_ERROR, close.
#include "probes/gloo/dial.h"

#include <netdb.h>
#include <netinet/in.h>
#include <poll.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <system_error>

#include "probes/gloo/outcome.h"

namespace collwatch::gloo_probe {
namespace {

using std::chrono::milliseconds;
using std::chrono::steady_clock;

std::optional<Failure> failed(const sockaddr_storage& address, const std::string& why) {
  return classify("connect " + to_string(address) + ": " + why, model::Phase::connect);
}

std::string words(int sys_errno) {
  return std::generic_category().message(sys_errno);
}

/// 0, or the errno with which the connection ended; ETIMEDOUT at the deadline.
int await_connected(int fd, steady_clock::time_point deadline) {
  for (;;) {
    const auto left = std::chrono::ceil<milliseconds>(deadline - steady_clock::now());
    pollfd poll_fd{fd, POLLOUT, 0};
    const int ready =
        ::poll(&poll_fd, 1, static_cast<int>(std::max<std::int64_t>(left.count(), 0)));
    if (ready < 0 && errno == EINTR) continue;
    if (ready < 0) return errno;
    if (ready == 0) return ETIMEDOUT;
    int error = 0;
    socklen_t length = sizeof(error);
    if (::getsockopt(fd, SOL_SOCKET, SO_ERROR, &error, &length) != 0) return errno;
    return error;
  }
}

}  // namespace

std::string to_string(const sockaddr_storage& address) {
  std::array<char, NI_MAXHOST> host{};
  std::array<char, NI_MAXSERV> port{};
  const socklen_t length =
      address.ss_family == AF_INET6 ? sizeof(sockaddr_in6) : sizeof(sockaddr_in);
  if (::getnameinfo(reinterpret_cast<const sockaddr*>(&address), length, host.data(), host.size(),
                    port.data(), port.size(), NI_NUMERICHOST | NI_NUMERICSERV) != 0) {
    return "[?]";
  }
  return std::string("[") + host.data() + "]:" + port.data();
}

std::optional<Failure> dial(const sockaddr_storage& address, steady_clock::time_point deadline) {
  const int fd = ::socket(address.ss_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
  if (fd < 0) return failed(address, words(errno));
  const socklen_t length =
      address.ss_family == AF_INET6 ? sizeof(sockaddr_in6) : sizeof(sockaddr_in);
  int error = 0;
  if (::connect(fd, reinterpret_cast<const sockaddr*>(&address), length) != 0) error = errno;
  if (error == EINPROGRESS) error = await_connected(fd, deadline);
  ::close(fd);
  if (error == 0) return std::nullopt;
  return failed(address, words(error));
}

}  // namespace collwatch::gloo_probe
