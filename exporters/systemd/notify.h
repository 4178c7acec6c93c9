// SPDX-License-Identifier: Apache-2.0
//
// Tells systemd how the agent is: ready, a status line, still alive, stopping, reloading. The whole
// protocol is one datagram of NAME=value lines to the socket named by $NOTIFY_SOCKET, so this is
// our own few lines instead of a dependency on libsystemd (and what that drags into a process that
// must stay small). Used by collwatchd's main on the loop thread; never blocks: a full or vanished
// socket is an Error, which the caller may count and ignore. Without $NOTIFY_SOCKET every call is a
// successful no-op, so that callers need no "are we under systemd?".
#pragma once

#include <chrono>
#include <optional>
#include <string>
#include <string_view>

#include "probes/model/result.h"

namespace collwatch::systemd {

/// The three variables of the protocol, as found; nullopt = not set.
struct NotifyEnvironment {
  std::optional<std::string> notify_socket;  ///< "/path" or "@abstract"
  std::optional<std::string> watchdog_usec;
  std::optional<std::string> watchdog_pid;
};
NotifyEnvironment read_notify_environment();

class Notifier {
 public:
  /// Fails on an address this implementation cannot speak to (neither a path nor abstract, too
  /// long); an absent or empty one gives a Notifier that does nothing.
  static model::Result<Notifier> create(const NotifyEnvironment& environment);
  ~Notifier();
  Notifier(Notifier&& other) noexcept;
  Notifier& operator=(Notifier&&) = delete;

  /// False: nobody listens, all calls are no-ops.
  bool enabled() const { return fd_ >= 0; }

  /// Start-up, or a reload, is complete. `status` is shown by `systemctl status`; control
  /// characters become spaces, since a newline would start another assignment; at most 512 bytes
  /// are sent.
  model::Result<void> ready(std::string_view status) const;
  model::Result<void> status(std::string_view status) const;
  model::Result<void> stopping(std::string_view status) const;
  /// With the monotonic time that systemd wants to see; follow it by ready().
  model::Result<void> reloading() const;
  /// "Still alive". Due at half of watchdog_interval().
  model::Result<void> watchdog() const;

  /// $WATCHDOG_USEC if it is meant for this process; nullopt: no watchdog, do not feed.
  std::optional<std::chrono::microseconds> watchdog_interval() const { return watchdog_interval_; }

 private:
  Notifier() = default;
  model::Result<void> send(const std::string& assignments) const;

  int fd_ = -1;
  std::string address_;  ///< as in sun_path: an abstract one starts with a zero byte
  std::optional<std::chrono::microseconds> watchdog_interval_;
};

}  // namespace collwatch::systemd
