// SPDX-License-Identifier: Apache-2.0
//
// NETLINK_SOCK_DIAG. tcp_info grows with kernels; only as much of it as was sent is looked at.
#include "daemon/processes/socket_bytes.h"

#include <arpa/inet.h>
#include <linux/inet_diag.h>
#include <linux/netlink.h>
#include <linux/rtnetlink.h>
#include <linux/sock_diag.h>
#include <linux/tcp.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstring>

namespace collwatch::processes {
namespace {

constexpr unsigned kEstablished = 1;
constexpr unsigned kListen = 10;
constexpr std::size_t kMostSockets = 65536;
constexpr std::size_t kBuffer = 65536;

struct Request {
  nlmsghdr header;
  inet_diag_req_v2 body;
};

bool ask(int fd, unsigned char family) {
  Request request{};
  request.header.nlmsg_len = sizeof request;
  request.header.nlmsg_type = SOCK_DIAG_BY_FAMILY;
  request.header.nlmsg_flags = NLM_F_REQUEST | NLM_F_DUMP;
  request.body.sdiag_family = family;
  request.body.sdiag_protocol = IPPROTO_TCP;
  request.body.idiag_ext = 1U << (INET_DIAG_INFO - 1);
  request.body.idiag_states = (1U << kEstablished) | (1U << kListen);
  sockaddr_nl kernel{};
  kernel.nl_family = AF_NETLINK;
  const ssize_t sent = ::sendto(fd, &request, sizeof request, 0,
                                reinterpret_cast<const sockaddr*>(&kernel), sizeof kernel);
  return sent == static_cast<ssize_t>(sizeof request);
}

std::optional<std::uint64_t> bytes_in(const nlmsghdr* header) {
  const auto* message = static_cast<const inet_diag_msg*>(NLMSG_DATA(header));
  int left = static_cast<int>(header->nlmsg_len) - static_cast<int>(NLMSG_LENGTH(sizeof *message));
  constexpr std::size_t kNeeded =
      offsetof(tcp_info, tcpi_bytes_received) + sizeof(tcp_info::tcpi_bytes_received);
  for (auto* part = reinterpret_cast<const rtattr*>(message + 1); RTA_OK(part, left);
       part = RTA_NEXT(part, left)) {
    if (part->rta_type != INET_DIAG_INFO || RTA_PAYLOAD(part) < kNeeded) continue;
    tcp_info info{};
    std::memcpy(&info, RTA_DATA(part), kNeeded);
    return info.tcpi_bytes_acked + info.tcpi_bytes_received;
  }
  return std::nullopt;
}

void take(const nlmsghdr* header, std::vector<TcpSocket>& sockets) {
  if (header->nlmsg_len < NLMSG_LENGTH(sizeof(inet_diag_msg))) return;
  const auto* message = static_cast<const inet_diag_msg*>(NLMSG_DATA(header));
  if (message->idiag_inode == 0 || sockets.size() >= kMostSockets) return;
  const std::size_t length = message->idiag_family == AF_INET ? 4 : 16;
  TcpSocket socket;
  socket.local =
      address_text(reinterpret_cast<const unsigned char*>(message->id.idiag_src), length);
  socket.remote =
      address_text(reinterpret_cast<const unsigned char*>(message->id.idiag_dst), length);
  socket.local_port = ntohs(message->id.idiag_sport);
  socket.remote_port = ntohs(message->id.idiag_dport);
  socket.listening = message->idiag_state == kListen;
  socket.inode = message->idiag_inode;
  if (!socket.listening) socket.bytes = bytes_in(header);
  sockets.push_back(std::move(socket));
}

/// False: refused, broken off, or too late.
bool receive_all(int fd, std::vector<TcpSocket>& sockets) {
  const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(1);
  std::vector<std::max_align_t> aligned(kBuffer / sizeof(std::max_align_t));
  while (std::chrono::steady_clock::now() < end) {
    const ssize_t got = ::recv(fd, aligned.data(), kBuffer, 0);
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) return false;
    auto left = static_cast<unsigned>(got);
    for (auto* header = reinterpret_cast<const nlmsghdr*>(aligned.data()); NLMSG_OK(header, left);
         header = NLMSG_NEXT(header, left)) {
      if (header->nlmsg_type == NLMSG_DONE) return true;
      if (header->nlmsg_type == NLMSG_ERROR) return false;
      if (header->nlmsg_type == SOCK_DIAG_BY_FAMILY) take(header, sockets);
    }
  }
  return false;
}

}  // namespace

std::optional<std::vector<TcpSocket>> sockets_with_bytes() {
  const int fd = ::socket(AF_NETLINK, SOCK_DGRAM | SOCK_CLOEXEC, NETLINK_SOCK_DIAG);
  if (fd < 0) return std::nullopt;
  const timeval second{1, 0};
  ::setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &second, sizeof second);
  std::vector<TcpSocket> sockets;
  const bool whole =
      ask(fd, AF_INET) && receive_all(fd, sockets) && ask(fd, AF_INET6) && receive_all(fd, sockets);
  ::close(fd);
  if (!whole) return std::nullopt;
  return sockets;
}

}  // namespace collwatch::processes
