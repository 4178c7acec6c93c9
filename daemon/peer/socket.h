// SPDX-License-Identifier: Apache-2.0
//
// The few socket calls that server, client and witness share: an owned descriptor, a dual-stack
// bind with an error a person can act on, and the mapping between IPv4 and IPv4-in-IPv6. All
// sockets are non-blocking and CLOEXEC from birth. Internal to this folder.
#pragma once

#include <string>

#include "daemon/config/config.h"
#include "daemon/peer/address.h"
#include "probes/model/result.h"

namespace collwatch::peer {

/// Owns one file descriptor.
class Fd {
 public:
  Fd() = default;
  explicit Fd(int fd) : fd_(fd) {}
  ~Fd() { reset(); }
  Fd(Fd&& other) noexcept : fd_(other.release()) {}
  Fd& operator=(Fd&& other) noexcept;

  int get() const { return fd_; }
  explicit operator bool() const { return fd_ >= 0; }
  int release();
  void reset();

 private:
  int fd_ = -1;
};

enum class Protocol { tcp, udp };

/// Bound (and for TCP listening). "::" takes IPv4 too; where IPv6 does not exist it becomes
/// 0.0.0.0. The Error reads "cannot listen on [::]:9782: address already in use".
model::Result<Fd> open_listener(const config::Endpoint& listen, Protocol protocol);

/// strerror in the middle of a sentence: "connection refused".
std::string describe_errno(int sys_errno);

/// ::ffff:10.0.0.1 as 10.0.0.1, everything else as it is.
Address unmapped(const Address& address);
/// The form that a socket of `family` can send to: IPv4 into an IPv6 socket is mapped.
Address for_family(const Address& address, int family);

}  // namespace collwatch::peer
