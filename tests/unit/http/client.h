// SPDX-License-Identifier: Apache-2.0
//
// A client of bare sockets, as polite or as rude as a test wants. Every wait has a deadline.
#pragma once

#include <arpa/inet.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <string>
#include <utility>

namespace collwatch::test {

inline constexpr int kDeadlineMs = 5000;

class Connection {
 public:
  /// Connects to 127.0.0.1 (or ::1); check with connected().
  explicit Connection(std::uint16_t port, bool ipv6 = false) {
    fd_ = ::socket(ipv6 ? AF_INET6 : AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    sockaddr_in v4{};
    v4.sin_family = AF_INET;
    v4.sin_port = htons(port);
    v4.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    sockaddr_in6 v6{};
    v6.sin6_family = AF_INET6;
    v6.sin6_port = htons(port);
    v6.sin6_addr = in6addr_loopback;
    const auto* address =
        ipv6 ? reinterpret_cast<sockaddr*>(&v6) : reinterpret_cast<sockaddr*>(&v4);
    const socklen_t length = ipv6 ? sizeof v6 : sizeof v4;
    if (::connect(fd_, address, length) != 0) drop();
  }
  /// To an IPv4 address of this host that is not loopback.
  Connection(std::uint16_t port, const std::string& address) {
    fd_ = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    sockaddr_in to{};
    to.sin_family = AF_INET;
    to.sin_port = htons(port);
    ::inet_pton(AF_INET, address.c_str(), &to.sin_addr);
    if (::connect(fd_, reinterpret_cast<sockaddr*>(&to), sizeof to) != 0) drop();
  }
  ~Connection() { drop(); }
  Connection(Connection&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}
  Connection& operator=(Connection&&) = delete;

  bool connected() const { return fd_ >= 0; }
  bool send(const std::string& bytes) {
    return ::send(fd_, bytes.data(), bytes.size(), MSG_NOSIGNAL) ==
           static_cast<ssize_t>(bytes.size());
  }
  void finish_sending() { ::shutdown(fd_, SHUT_WR); }

  /// What arrives until the server closes, or until the deadline.
  std::string read_to_end() {
    std::string out;
    char buffer[16384];
    while (readable(kDeadlineMs)) {
      const ssize_t n = ::recv(fd_, buffer, sizeof buffer, 0);
      if (n <= 0) return out;
      out.append(buffer, static_cast<std::size_t>(n));
    }
    return out + "(deadline)";
  }

  /// One response with a Content-Length, the connection left open.
  std::string read_response() {
    std::string out;
    char c = 0;
    while (out.find("\r\n\r\n") == std::string::npos) {
      if (!readable(kDeadlineMs) || ::recv(fd_, &c, 1, 0) != 1) return out;
      out += c;
    }
    const auto header = out.find("Content-Length: ");
    std::size_t left = header == std::string::npos ? 0 : std::stoul(out.substr(header + 16));
    while (left > 0 && readable(kDeadlineMs)) {
      char buffer[16384];
      const ssize_t n = ::recv(fd_, buffer, std::min(left, sizeof buffer), 0);
      if (n <= 0) break;
      out.append(buffer, static_cast<std::size_t>(n));
      left -= static_cast<std::size_t>(n);
    }
    return out;
  }

  /// The server has closed, or closes before the deadline, having sent nothing more.
  bool is_closed_by_server() {
    char c = 0;
    return readable(kDeadlineMs) && ::recv(fd_, &c, 1, 0) <= 0;
  }

 private:
  bool readable(int timeout_ms) const {
    pollfd wait{fd_, POLLIN, 0};
    return ::poll(&wait, 1, timeout_ms) == 1;
  }
  void drop() {
    if (fd_ >= 0) ::close(fd_);
    fd_ = -1;
  }

  int fd_ = -1;
};

struct Answer {
  int status = 0;
  std::string head, body;

  bool has_header(const std::string& line) const {
    return head.find("\r\n" + line + "\r\n") != std::string::npos;
  }
};

inline Answer parse(const std::string& response) {
  Answer out;
  const auto end = response.find("\r\n\r\n");
  if (response.rfind("HTTP/1.", 0) != 0 || end == std::string::npos) return out;
  out.status = std::stoi(response.substr(9, 3));
  out.head = response.substr(0, end + 2);
  out.body = response.substr(end + 4);
  return out;
}

inline Answer request(std::uint16_t port, const std::string& method, const std::string& target,
                      bool ipv6 = false) {
  Connection connection(port, ipv6);
  if (!connection.connected()) return {};
  connection.send(method + " " + target + " HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n");
  return parse(connection.read_to_end());
}

inline Answer get(std::uint16_t port, const std::string& target) {
  return request(port, "GET", target);
}

}  // namespace collwatch::test
