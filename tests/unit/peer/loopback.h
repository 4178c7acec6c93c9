// SPDX-License-Identifier: Apache-2.0
//
// Real sockets in one loop: turn it until something is true, and clients and servers that speak
// raw bytes, for the tests that must misbehave.
#pragma once

#include <arpa/inet.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>
#include <sys/types.h>

#include <array>
#include <cerrno>
#include <chrono>
#include <string>

#include "daemon/base/event_loop.h"
#include "daemon/peer/framing.h"
#include "daemon/peer/socket.h"
#include "tests/support/catch.h"
#include "tests/unit/peer/sample_messages.h"

namespace loopback {

namespace base = collwatch::base;
namespace config = collwatch::config;
namespace peer = collwatch::peer;

/// Turns the loop until `done()`; false if that takes ten seconds, which no passing test does.
template <typename Done>
bool turn_until(base::EventLoop& loop, Done done) {
  const auto limit = base::Clock::now() + std::chrono::seconds(10);
  while (!done()) {
    if (base::Clock::now() > limit) return false;
    REQUIRE(loop.turn(std::chrono::milliseconds(5)));
  }
  return true;
}

inline peer::Address address(std::uint16_t port, const std::string& host = "127.0.0.1") {
  return peer::resolve(config::Endpoint{host, port}, AF_UNSPEC).value();
}

inline const sockaddr* as_sockaddr(const peer::Address& address) {
  return reinterpret_cast<const sockaddr*>(&address.storage);
}

/// One TCP connection that sends and reads whatever it is told to.
class RawConnection {
 public:
  explicit RawConnection(peer::Fd socket) : fd(std::move(socket)) {}

  enum class Path { wide, narrow };

  /// `narrow`: what the server sends at once does not fit (small segments keep its buffer small).
  static RawConnection to(std::uint16_t port, const std::string& from = "127.0.0.1",
                          Path path = Path::wide) {
    peer::Fd fd(socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
    if (path == Path::narrow) {
      const int segment = 500;
      const int buffer = 1024;
      setsockopt(fd.get(), IPPROTO_TCP, TCP_MAXSEG, &segment, sizeof(segment));
      setsockopt(fd.get(), SOL_SOCKET, SO_RCVBUF, &buffer, sizeof(buffer));
    }
    const peer::Address local = address(0, from);
    REQUIRE(bind(fd.get(), as_sockaddr(local), local.length) == 0);
    const peer::Address remote = address(port);
    const int rc = connect(fd.get(), as_sockaddr(remote), remote.length);
    REQUIRE((rc == 0 || errno == EINPROGRESS));
    return RawConnection(std::move(fd));
  }

  void write(std::string_view bytes) const {
    REQUIRE(send(fd.get(), bytes.data(), bytes.size(), MSG_NOSIGNAL) ==
            static_cast<ssize_t>(bytes.size()));
  }

  /// Takes what is there; sets `closed` at the end of the stream or on a reset.
  void poll() {
    std::array<char, 4096> chunk{};
    while (!closed) {
      const ssize_t got = recv(fd.get(), chunk.data(), chunk.size(), 0);
      if (got < 0 && (errno == EAGAIN || errno == ENOTCONN)) return;
      if (got > 0) received.append(chunk.data(), static_cast<std::size_t>(got));
      closed = got <= 0;
    }
  }

  bool wait_for_bytes(base::EventLoop& loop, std::size_t count) {
    return turn_until(loop, [&] {
      poll();
      return received.size() >= count;
    });
  }

  bool wait_until_closed(base::EventLoop& loop) {
    return turn_until(loop, [&] {
      poll();
      return closed;
    });
  }

  /// Waits for the server's challenge and returns its nonce.
  std::string take_nonce(base::EventLoop& loop) {
    const std::size_t size = peer::make_challenge(std::string(peer::kNonceBytes, 'n')).size();
    REQUIRE(wait_for_bytes(loop, size));
    peer::FrameReader reader(1024);
    REQUIRE(reader.append(received.substr(0, size)) == peer::FrameReader::State::complete);
    received.erase(0, size);
    return peer::read_challenge(reader.take().body).value();
  }

  peer::Fd fd;
  std::string received;
  bool closed = false;
};

/// A listener on 127.0.0.1 that never accepts by itself.
class RawListener {
 public:
  RawListener()
      : fd(peer::open_listener(config::Endpoint{"127.0.0.1", 0}, peer::Protocol::tcp).value()) {}

  std::uint16_t port() const { return peer::local_address(fd.get())->port(); }

  RawConnection accept_one(base::EventLoop& loop) const {
    int accepted = -1;
    REQUIRE(turn_until(loop, [&] {
      accepted = accept4(fd.get(), nullptr, nullptr, SOCK_NONBLOCK | SOCK_CLOEXEC);
      return accepted >= 0;
    }));
    return RawConnection(peer::Fd(accepted));
  }

  peer::Fd fd;
};

/// A request as a client with `token` would send it in answer to `nonce`.
inline std::string request_frame(const std::string& token, const std::string& nonce,
                                 const std::string& body) {
  return peer::make_frame(peer::request_mac(token, nonce, body), body);
}

inline std::string dial_body() {
  return peer::encode(samples::request(peer::Dial{}));
}

}  // namespace loopback
