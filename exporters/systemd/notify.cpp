// SPDX-License-Identifier: Apache-2.0
//
// One unconnected datagram socket kept for the life of the process: the receiver may be replaced
// (systemd re-executes itself) without our noticing, and every send names its address anew.
#include "exporters/systemd/notify.h"

#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <cerrno>
#include <charconv>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <utility>

namespace collwatch::systemd {
namespace {

constexpr std::size_t kMaxStatusBytes = 512;

std::optional<std::string> variable(const char* name) {
  const char* value = std::getenv(name);
  if (value == nullptr) return std::nullopt;
  return std::string(value);
}

std::optional<std::uint64_t> parse_number(std::string_view text) {
  std::uint64_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return number;
}

/// sd_watchdog_enabled(3): no PID means "whoever reads this"; another's PID means "not you".
std::optional<std::chrono::microseconds> watchdog_of(const NotifyEnvironment& environment) {
  if (!environment.watchdog_usec) return std::nullopt;
  if (environment.watchdog_pid &&
      parse_number(*environment.watchdog_pid) != static_cast<std::uint64_t>(getpid())) {
    return std::nullopt;
  }
  const auto usec = parse_number(*environment.watchdog_usec);
  if (!usec || *usec == 0 || *usec > static_cast<std::uint64_t>(INT64_MAX)) return std::nullopt;
  return std::chrono::microseconds(static_cast<std::int64_t>(*usec));
}

std::string status_line(std::string_view status) {
  if (status.size() > kMaxStatusBytes) {
    // systemd drops a status that is not UTF-8: never cut inside a character.
    std::size_t cut = kMaxStatusBytes;
    while (cut > 0 && (static_cast<unsigned char>(status[cut]) & 0xc0) == 0x80) --cut;
    status = status.substr(0, cut);
  }
  std::string line = "STATUS=";
  for (const char c : status) line += static_cast<unsigned char>(c) < 0x20 || c == 0x7f ? ' ' : c;
  return line;
}

}  // namespace

NotifyEnvironment read_notify_environment() {
  return {variable("NOTIFY_SOCKET"), variable("WATCHDOG_USEC"), variable("WATCHDOG_PID")};
}

model::Result<Notifier> Notifier::create(const NotifyEnvironment& environment) {
  Notifier notifier;
  if (!environment.notify_socket || environment.notify_socket->empty()) return notifier;

  std::string address = *environment.notify_socket;
  if (address[0] != '/' && address[0] != '@') {
    return model::fail(model::ErrorCode::invalid_argument,
                       "NOTIFY_SOCKET='" + address + "' is neither a path nor an abstract address");
  }
  // A path needs its terminating zero, an abstract name is exactly as long as it says.
  const std::size_t limit = sizeof(sockaddr_un::sun_path) - (address[0] == '/' ? 1 : 0);
  if (address.size() > limit || address.size() < 2) {
    return model::fail(model::ErrorCode::invalid_argument,
                       "NOTIFY_SOCKET='" + address + "' has no usable length");
  }
  if (address[0] == '@') address[0] = '\0';

  notifier.fd_ = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
  if (notifier.fd_ < 0) return model::fail(model::from_errno("socket for NOTIFY_SOCKET", errno));
  notifier.address_ = std::move(address);
  notifier.watchdog_interval_ = watchdog_of(environment);
  return notifier;
}

Notifier::Notifier(Notifier&& other) noexcept
    : fd_(std::exchange(other.fd_, -1)),
      address_(std::move(other.address_)),
      watchdog_interval_(std::exchange(other.watchdog_interval_, std::nullopt)) {}

Notifier::~Notifier() {
  if (fd_ >= 0) close(fd_);
}

model::Result<void> Notifier::ready(std::string_view status) const {
  return send("READY=1\n" + status_line(status));
}

model::Result<void> Notifier::status(std::string_view status) const {
  return send(status_line(status));
}

model::Result<void> Notifier::stopping(std::string_view status) const {
  return send("STOPPING=1\n" + status_line(status));
}

model::Result<void> Notifier::reloading() const {
  timespec now{};
  clock_gettime(CLOCK_MONOTONIC, &now);
  const std::int64_t usec = std::int64_t{now.tv_sec} * 1'000'000 + now.tv_nsec / 1000;
  return send("RELOADING=1\nMONOTONIC_USEC=" + std::to_string(usec));
}

model::Result<void> Notifier::watchdog() const {
  return send("WATCHDOG=1");
}

model::Result<void> Notifier::send(const std::string& assignments) const {
  if (fd_ < 0) return {};
  sockaddr_un to{};
  to.sun_family = AF_UNIX;
  std::memcpy(to.sun_path, address_.data(), address_.size());
  const bool is_path = address_[0] != '\0';
  const auto length =
      static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + address_.size() + (is_path ? 1 : 0));
  ssize_t sent = 0;
  do {
    sent = sendto(fd_, assignments.data(), assignments.size(), MSG_NOSIGNAL,
                  reinterpret_cast<const sockaddr*>(&to), length);
  } while (sent < 0 && errno == EINTR);
  if (sent < 0) return model::fail(model::from_errno("notify systemd", errno));
  return {};
}

}  // namespace collwatch::systemd
