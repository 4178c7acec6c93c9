// SPDX-License-Identifier: Apache-2.0
//
// One end of the SOCK_SEQPACKET socketpair between daemon and worker: send one packet, receive one
// packet. Owns its fd. Not thread-safe for receive; send is one system call and may be called from
// several threads of a worker.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "probes/model/result.h"

namespace collwatch::wire {

enum class ReceiveStatus { packet, would_block, closed, too_big, failed };

struct Received {
  ReceiveStatus status = ReceiveStatus::would_block;
  std::string packet;
  int sys_errno = 0;
};

class Channel {
 public:
  explicit Channel(int fd) : fd_(fd) {}
  ~Channel();
  Channel(Channel&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}
  Channel& operator=(Channel&& other) noexcept;
  Channel(const Channel&) = delete;
  Channel& operator=(const Channel&) = delete;

  /// A connected pair, both CLOEXEC and the first one non-blocking (the daemon's end).
  static model::Result<std::pair<Channel, Channel>> make_pair();

  /// Sends one packet (MSG_NOSIGNAL). A full or closed socket is an Error, never a wait on the
  /// daemon's non-blocking end.
  model::Result<void> send(std::string_view packet) const;

  /// Receives one packet, at most kMaxPacketBytes; longer ones are `too_big` and dropped.
  Received receive() const;

  int fd() const { return fd_; }
  int release() { return std::exchange(fd_, -1); }
  void close();

 private:
  int fd_ = -1;
};

}  // namespace collwatch::wire
