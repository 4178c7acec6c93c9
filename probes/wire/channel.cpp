// SPDX-License-Identifier: Apache-2.0
//
// One packet out, one packet in, over an AF_UNIX SOCK_SEQPACKET socket. The kernel keeps packet
// boundaries, so there is no framing and no half-read state. Used by the daemon's event loop (its
// end never blocks) and by a worker's threads.
#include "probes/wire/channel.h"

#include <fcntl.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <cerrno>

#include "probes/wire/message.h"

namespace collwatch::wire {

using model::Error;
using model::ErrorCode;
using model::Result;

Channel::~Channel() {
  close();
}

Channel& Channel::operator=(Channel&& other) noexcept {
  if (this != &other) {
    close();
    fd_ = std::exchange(other.fd_, -1);
  }
  return *this;
}

void Channel::close() {
  if (fd_ >= 0) ::close(std::exchange(fd_, -1));
}

Result<std::pair<Channel, Channel>> Channel::make_pair() {
  std::array<int, 2> fds{-1, -1};
  if (::socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, fds.data()) != 0) {
    return model::fail(model::from_errno("make a channel to a worker", errno));
  }
  Channel daemon_end(fds[0]);
  Channel worker_end(fds[1]);
  // Only the daemon must never wait; a worker's threads may.
  const int flags = ::fcntl(worker_end.fd(), F_GETFL);
  if (flags < 0 || ::fcntl(worker_end.fd(), F_SETFL, flags & ~O_NONBLOCK) != 0) {
    return model::fail(model::from_errno("make a worker's end of a channel blocking", errno));
  }
  return std::make_pair(std::move(daemon_end), std::move(worker_end));
}

Result<void> Channel::send(std::string_view packet) const {
  if (packet.empty() || packet.size() > kMaxPacketBytes) {
    // An empty packet would read as the end of the conversation.
    return model::fail(ErrorCode::limit, "send a packet of " + std::to_string(packet.size()) +
                                             " bytes: not between 1 and 65536");
  }
  ssize_t sent = 0;
  do {
    sent = ::send(fd_, packet.data(), packet.size(), MSG_NOSIGNAL);
  } while (sent < 0 && errno == EINTR);
  if (sent < 0) return model::fail(model::from_errno("send to the other end of a channel", errno));
  return {};
}

Received Channel::receive() const {
  std::array<char, 1> probe{};
  ssize_t size = 0;
  do {  // MSG_TRUNC makes the kernel say how long the packet really is
    size = ::recv(fd_, probe.data(), probe.size(), MSG_PEEK | MSG_TRUNC);
  } while (size < 0 && errno == EINTR);
  if (size == 0) return {ReceiveStatus::closed, {}, 0};
  if (size < 0) {
    if (errno == EAGAIN || errno == EWOULDBLOCK) return {ReceiveStatus::would_block, {}, 0};
    // The other end closed with packets of ours unread.
    if (errno == ECONNRESET) return {ReceiveStatus::closed, {}, errno};
    return {ReceiveStatus::failed, {}, errno};
  }

  const bool too_big = static_cast<std::size_t>(size) > kMaxPacketBytes;
  std::string packet(too_big ? 1 : static_cast<std::size_t>(size), '\0');
  ssize_t got = 0;
  do {
    got = ::recv(fd_, packet.data(), packet.size(), 0);
  } while (got < 0 && errno == EINTR);
  if (got < 0) return {ReceiveStatus::failed, {}, errno};
  if (too_big) return {ReceiveStatus::too_big, {}, 0};
  packet.resize(static_cast<std::size_t>(got));
  return {ReceiveStatus::packet, std::move(packet), 0};
}

}  // namespace collwatch::wire
