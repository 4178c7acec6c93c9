// SPDX-License-Identifier: Apache-2.0
//
// The datagram sieve: only fresh messages to us, from an admitted incarnation, with a good MAC.
#include "daemon/peer/witness.h"

#include <vector>

#include "tests/unit/peer/loopback.h"

using namespace collwatch;
using loopback::turn_until;

namespace {

constexpr const char* kToken = "the token";

struct Node {
  Node(base::EventLoop& loop, const std::string& name, const char* host = "127.0.0.1") {
    socket = peer::WitnessSocket::create(
                 loop, config::Endpoint{host, 0}, kToken,
                 [this](const peer::WitnessMessage& message, const peer::Address& from) {
                   heard.push_back(message);
                   sender = from;
                 },
                 name)
                 .value();
  }
  peer::Address address() const { return loopback::address(socket->port()); }
  const peer::WitnessSocket::Stats& stats() const { return socket->stats(); }

  std::unique_ptr<peer::WitnessSocket> socket;
  std::vector<peer::WitnessMessage> heard;
  peer::Address sender;
};

/// A wire tap: receives what is sent to it and sends any bytes on.
class Tap {
 public:
  explicit Tap(base::EventLoop& loop)
      : loop_(loop),
        fd_(peer::open_listener(config::Endpoint{"127.0.0.1", 0}, peer::Protocol::udp).value()) {}

  peer::Address address() const { return peer::local_address(fd_.get()).value(); }

  std::string capture() {
    std::array<char, 2048> bytes{};
    ssize_t got = -1;
    REQUIRE(turn_until(loop_, [&] {
      got = recv(fd_.get(), bytes.data(), bytes.size(), 0);
      return got >= 0;
    }));
    return {bytes.data(), static_cast<std::size_t>(got)};
  }

  /// Sends and waits until `node` has dealt with it.
  void inject(const std::string& bytes, const Node& node) {
    const std::uint64_t before = node.stats().received;
    const peer::Address to = node.address();
    REQUIRE(sendto(fd_.get(), bytes.data(), bytes.size(), 0, loopback::as_sockaddr(to),
                   to.length) == static_cast<ssize_t>(bytes.size()));
    REQUIRE(turn_until(loop_, [&] { return node.stats().received > before; }));
  }

 private:
  base::EventLoop& loop_;
  peer::Fd fd_;
};

struct Fixture {
  Fixture() { b.socket->admit("node-a", samples::identity("node-a").incarnation); }

  std::string captured(const peer::WitnessMessage& message) {
    REQUIRE(a.socket->send(tap.address(), message));
    return tap.capture();
  }

  std::unique_ptr<base::EventLoop> loop = base::EventLoop::create().value();
  Node a{*loop, "node-a"};
  Node b{*loop, "node-b"};
  Tap tap{*loop};
};

}  // namespace

TEST_CASE("an admitted sender's datagrams arrive, numbered upwards") {
  Fixture f;
  for (int i = 0; i < 3; ++i) REQUIRE(f.a.socket->send(f.b.address(), samples::witness()));
  REQUIRE(turn_until(*f.loop, [&] { return f.b.heard.size() == 3; }));
  CHECK(f.b.heard[0].sequence == 1);
  CHECK(f.b.heard[2].sequence == 3);
  CHECK(f.b.heard[0].edges.size() == 2);
  CHECK(f.b.sender.text() == f.a.address().text());
  CHECK(f.a.stats().sent == 3);
}

TEST_CASE("a burst longer than one wakeup's share arrives whole") {
  Fixture f;
  for (int i = 0; i < 150; ++i) REQUIRE(f.a.socket->send(f.b.address(), samples::witness()));
  CHECK(turn_until(*f.loop, [&] { return f.b.heard.size() == 150; }));
}

TEST_CASE("a datagram is taken once") {
  Fixture f;
  const std::string datagram = f.captured(samples::witness());
  f.tap.inject(datagram, f.b);
  CHECK(f.b.heard.size() == 1);
  f.tap.inject(datagram, f.b);
  CHECK(f.b.heard.size() == 1);
  CHECK(f.b.stats().replayed == 1);
  // Meeting the same incarnation again opens no door.
  f.b.socket->admit("node-a", samples::identity("node-a").incarnation);
  f.tap.inject(datagram, f.b);
  CHECK(f.b.stats().replayed == 2);
}

TEST_CASE("a datagram captured on its way to another member is refused") {
  Fixture f;
  f.tap.inject(f.captured(samples::witness("node-a", "node-c")), f.b);
  CHECK(f.b.heard.empty());
  CHECK(f.b.stats().misdirected == 1);
}

TEST_CASE("one changed bit, or another token, is refused") {
  Fixture f;
  const std::string datagram = f.captured(samples::witness());
  for (const std::size_t at : {std::size_t{0}, datagram.size() / 2, datagram.size() - 1}) {
    std::string changed = datagram;
    changed[at] = static_cast<char>(changed[at] ^ 1);
    f.tap.inject(changed, f.b);
  }
  CHECK(f.b.stats().bad_mac == 3);
  f.b.socket->set_token("the next token");
  f.tap.inject(datagram, f.b);
  CHECK(f.b.stats().bad_mac == 4);
  CHECK(f.b.heard.empty());
}

TEST_CASE("only the admitted incarnation of a name is heard") {
  Fixture f;
  const std::string old_life = f.captured(samples::witness());
  f.b.socket->admit("node-a", "its next life");
  f.tap.inject(old_life, f.b);
  CHECK(f.b.stats().unknown_sender == 1);
  peer::WitnessMessage next = samples::witness();
  next.incarnation = "its next life";
  f.tap.inject(f.captured(next), f.b);
  CHECK(f.b.heard.size() == 1);
  f.b.socket->forget("node-a");
  f.tap.inject(f.captured(next), f.b);
  CHECK(f.b.stats().unknown_sender == 2);
}

TEST_CASE("in a name that was given a cookie only who shows it speaks, and no sequence is spent") {
  Fixture f;
  f.b.socket->admit("node-a", samples::identity("node-a").incarnation, 4711);
  peer::WitnessMessage forged = samples::witness();
  f.tap.inject(f.captured(forged), f.b);  // sequence 1, 2, ...: ahead of the true sender's
  forged.shows = 4712;
  f.tap.inject(f.captured(forged), f.b);
  CHECK(f.b.stats().unknown_sender == 2);
  peer::WitnessMessage honest = samples::witness();
  honest.shows = 4711;
  f.tap.inject(f.captured(honest), f.b);
  CHECK(f.b.heard.size() == 1);
  CHECK(f.b.stats().replayed == 0);
}

TEST_CASE("an authenticated datagram that is no message, a stump and a giant are malformed") {
  Fixture f;
  const std::string body = "no message";
  f.tap.inject(body + peer::datagram_mac(kToken, body), f.b);
  f.tap.inject("short", f.b);
  f.tap.inject(std::string(peer::kMaxDatagramBytes + 1, 'x'), f.b);
  CHECK(f.b.stats().malformed == 3);
  CHECK(f.b.stats().bad_mac == 0);
}

TEST_CASE("what cannot be sent is counted") {
  Fixture f;
  peer::WitnessMessage giant = samples::witness();
  giant.edges.assign(100, samples::edge("x"));
  CHECK_FALSE(f.a.socket->send(f.b.address(), giant));
  CHECK_FALSE(f.a.socket->send(peer::Address{}, samples::witness()));
  CHECK(f.a.stats().send_failed == 2);
}

TEST_CASE("the wildcard socket speaks IPv4, too") {
  Fixture f;
  Node wide(*f.loop, "node-b", "::");
  wide.socket->admit("node-a", samples::identity("node-a").incarnation);
  REQUIRE(f.a.socket->send(wide.address(), samples::witness()));
  REQUIRE(turn_until(*f.loop, [&] { return wide.heard.size() == 1; }));
  CHECK(wide.sender.text() == f.a.address().text());
  f.a.socket->admit("node-b", samples::identity("node-b").incarnation);
  REQUIRE(wide.socket->send(f.a.address(), samples::witness("node-b", "node-a")));
  CHECK(turn_until(*f.loop, [&] { return f.a.heard.size() == 1; }));
}

TEST_CASE("a handler may destroy its socket, and a taken port is named") {
  Fixture f;
  std::unique_ptr<peer::WitnessSocket> doomed;
  doomed = peer::WitnessSocket::create(
               *f.loop, config::Endpoint{"127.0.0.1", 0}, kToken,
               [&](const peer::WitnessMessage&, const peer::Address&) { doomed.reset(); }, "node-b")
               .value();
  doomed->admit("node-a", samples::identity("node-a").incarnation);
  const std::uint16_t port = doomed->port();
  const auto again =
      peer::WitnessSocket::create(*f.loop, config::Endpoint{"127.0.0.1", port}, kToken, nullptr);
  REQUIRE_FALSE(again);
  CHECK(again.error().text ==
        "cannot listen on 127.0.0.1:" + std::to_string(port) + ": address already in use");
  for (int i = 0; i < 3; ++i) {
    REQUIRE(f.a.socket->send(loopback::address(port), samples::witness()));
  }
  CHECK(turn_until(*f.loop, [&] { return doomed == nullptr; }));
}
