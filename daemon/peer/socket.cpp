// SPDX-License-Identifier: Apache-2.0
//
// socket, setsockopt, bind, listen, in the order that gives the clearest error.
#include "daemon/peer/socket.h"

#include <netinet/in.h>
#include <unistd.h>

#include <cctype>
#include <cerrno>
#include <system_error>
#include <utility>

namespace collwatch::peer {

namespace {

// While the daemon is stopped its peers dial on; a full backlog would look like a dead host to
// them.
constexpr int kBacklog = 1024;

bool is_wildcard(const std::string& host) {
  return host.empty() || host == "::" || host == "*";
}

/// 0, or the errno of the step that failed. SO_REUSEADDR is for TCP alone: on UDP it would let a
/// second agent share the port and steal datagrams.
int bind_to(const Address& address, bool dual_stack, Protocol protocol, Fd& out) {
  const int type = protocol == Protocol::tcp ? SOCK_STREAM : SOCK_DGRAM;
  Fd fd(socket(address.family(), type | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
  if (!fd) return errno;
  const int on = 1;
  const int v6_only = dual_stack ? 0 : 1;
  if (address.family() == AF_INET6 &&
      setsockopt(fd.get(), IPPROTO_IPV6, IPV6_V6ONLY, &v6_only, sizeof(v6_only)) != 0) {
    return errno;
  }
  if (protocol == Protocol::tcp &&
      setsockopt(fd.get(), SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on)) != 0) {
    return errno;
  }
  if (bind(fd.get(), reinterpret_cast<const sockaddr*>(&address.storage), address.length) != 0) {
    return errno;
  }
  if (protocol == Protocol::tcp && listen(fd.get(), kBacklog) != 0) return errno;
  out = std::move(fd);
  return 0;
}

}  // namespace

Fd& Fd::operator=(Fd&& other) noexcept {
  if (this != &other) {
    reset();
    fd_ = other.release();
  }
  return *this;
}

int Fd::release() {
  return std::exchange(fd_, -1);
}

void Fd::reset() {
  if (fd_ >= 0) close(fd_);
  fd_ = -1;
}

std::string describe_errno(int sys_errno) {
  std::string text = std::generic_category().message(sys_errno);
  if (!text.empty()) text[0] = static_cast<char>(std::tolower(static_cast<unsigned char>(text[0])));
  return text;
}

model::Result<Fd> open_listener(const config::Endpoint& listen, Protocol protocol) {
  const bool wildcard = is_wildcard(listen.host);
  const config::Endpoint asked{wildcard ? "::" : listen.host, listen.port};
  const auto address = resolve(asked, AF_UNSPEC);
  if (!address) return model::fail(model::wrap(address.error(), "cannot listen"));
  Fd fd;
  int failed = bind_to(*address, wildcard, protocol, fd);
  const bool no_ipv6 =
      failed == EAFNOSUPPORT || failed == EADDRNOTAVAIL || failed == EPROTONOSUPPORT;
  if (wildcard && no_ipv6) {
    const auto any = resolve(config::Endpoint{"0.0.0.0", listen.port}, AF_INET);
    if (!any) return model::fail(any.error());
    failed = bind_to(*any, false, protocol, fd);
  }
  if (failed == 0) return fd;
  model::Error error = model::from_errno("", failed);
  error.text = "cannot listen on " + address->text() + ": " + describe_errno(failed);
  return model::fail(std::move(error));
}

}  // namespace collwatch::peer
