// SPDX-License-Identifier: Apache-2.0
//
// Call: how far it comes against servers good, silent, absent and strange, and its lifetimes.
#include "daemon/peer/client.h"

#include <cerrno>

#include "daemon/peer/server.h"
#include "tests/unit/peer/loopback.h"

using namespace collwatch;
using namespace std::chrono_literals;
using peer::CallStage;

namespace {

constexpr const char* kToken = "the token";

struct Fixture {
  void start(const peer::Address& to, base::Millis deadline = 5s,
             const std::string& token = kToken) {
    result.reset();
    call = peer::Call::start(*loop, to, bind_to, token, samples::request(peer::Dial{}), deadline,
                             [this](peer::CallResult outcome) { result = std::move(outcome); });
  }

  peer::CallResult wait() {
    REQUIRE(loopback::turn_until(*loop, [this] { return result.has_value(); }));
    return *result;
  }

  peer::CallResult call_to(std::uint16_t port, base::Millis deadline = 5s) {
    start(loopback::address(port), deadline);
    return wait();
  }

  void serve(const config::Endpoint& listen = {"127.0.0.1", 0}) {
    server = peer::Server::create(
                 *loop, listen, kToken,
                 [this](const peer::Request& request, const peer::Address&,
                        const peer::Address& from, const peer::Server::Responder& respond) {
                   asked = request;
                   remote = from.host();
                   respond(samples::reply(std::monostate{}));
                 })
                 .value();
  }

  std::unique_ptr<base::EventLoop> loop = base::EventLoop::create().value();
  std::unique_ptr<peer::Server> server;
  std::unique_ptr<peer::Call> call;
  peer::Address bind_to;
  std::optional<peer::CallResult> result;
  std::optional<peer::Request> asked;
  std::string remote;
};

}  // namespace

TEST_CASE("a call brings the request there and the reply back") {
  Fixture fixture;
  fixture.serve();
  const auto result = fixture.call_to(fixture.server->port());
  CHECK(result.stage == CallStage::done);
  REQUIRE(result.reply);
  CHECK(result.reply->from.name == "node-b");
  CHECK(result.local.host() == "127.0.0.1");
  CHECK(result.local.port() != 0);
  CHECK(fixture.asked->from.name == "node-a");
  CHECK(fixture.asked->nonce.size() == 2 * peer::kNonceBytes);
}

TEST_CASE("a call binds the address it is told to") {
  Fixture fixture;
  fixture.serve();
  fixture.bind_to = loopback::address(0, "127.0.0.7");
  CHECK(fixture.call_to(fixture.server->port()).stage == CallStage::done);
  CHECK(fixture.remote == "127.0.0.7");
  fixture.bind_to = loopback::address(0, "192.0.2.1");
  const auto nowhere = fixture.call_to(fixture.server->port());
  CHECK(nowhere.stage == CallStage::connecting);
  CHECK(nowhere.sys_errno == EADDRNOTAVAIL);
}

TEST_CASE("a call works over IPv6") {
  Fixture fixture;
  const auto v6 = peer::resolve(config::Endpoint{"::1", 0}, AF_INET6);
  const peer::Fd probe(socket(AF_INET6, SOCK_STREAM | SOCK_CLOEXEC, 0));
  if (!probe || bind(probe.get(), loopback::as_sockaddr(*v6), v6->length) != 0) {
    WARN("SKIPPED: no IPv6 on this host");
    return;
  }
  fixture.serve({"::", 0});
  fixture.start(loopback::address(fixture.server->port(), "::1"));
  CHECK(fixture.wait().stage == CallStage::done);
  CHECK(fixture.remote == "::1");
}

TEST_CASE("a refused port is told by its errno") {
  Fixture fixture;
  std::uint16_t port = 0;
  { port = loopback::RawListener().port(); }
  const auto result = fixture.call_to(port);
  CHECK(result.stage == CallStage::connecting);
  CHECK(result.sys_errno == ECONNREFUSED);
  CHECK_FALSE(result.timed_out);
  CHECK(result.text == "127.0.0.1:" + std::to_string(port) + ": connection refused");
}

TEST_CASE("a server that never accepts is a deadline after the connect") {
  Fixture fixture;
  const loopback::RawListener silent;
  const auto result = fixture.call_to(silent.port(), 50ms);
  CHECK(result.stage == CallStage::challenged_awaited);
  CHECK(result.timed_out);
  CHECK(result.sys_errno == 0);
  CHECK(result.local.valid());
}

TEST_CASE("a server that challenges and then falls silent is a deadline after that") {
  Fixture fixture;
  const loopback::RawListener listener;
  fixture.start(loopback::address(listener.port()), 100ms);
  const auto connection = listener.accept_one(*fixture.loop);
  connection.write(peer::make_challenge(std::string(peer::kNonceBytes, 'n')));
  const auto result = fixture.wait();
  CHECK(result.stage == CallStage::reply_awaited);
  CHECK(result.timed_out);
}

TEST_CASE("strangers on the port are a protocol error") {
  for (const std::string& bytes :
       {std::string("HTTP/1.1 400 Bad Request\r\n\r\n"), std::string("SSH-2.0-OpenSSH_9.2\r\n"),
        peer::make_frame(std::string(peer::kMacBytes, '\0'), "no challenge")}) {
    Fixture fixture;
    const loopback::RawListener listener;
    fixture.start(loopback::address(listener.port()));
    const auto connection = listener.accept_one(*fixture.loop);
    connection.write(bytes);
    const auto result = fixture.wait();
    INFO(result.text);
    CHECK(result.stage == CallStage::challenged_awaited);
    CHECK(result.protocol_error);
    CHECK_FALSE(result.timed_out);
  }
}

TEST_CASE("an answer made for another request, or without the token, is refused") {
  for (const bool knows_token : {true, false}) {
    Fixture fixture;
    const loopback::RawListener listener;
    fixture.start(loopback::address(listener.port()));
    auto connection = listener.accept_one(*fixture.loop);
    const std::string nonce(peer::kNonceBytes, 'n');
    connection.write(peer::make_challenge(nonce));
    REQUIRE(connection.wait_for_bytes(*fixture.loop, 100));
    const std::string body = peer::encode(samples::reply(std::monostate{}));
    const char* token = knows_token ? kToken : "guess";
    connection.write(
        peer::make_frame(peer::reply_mac(token, nonce, "an older client nonce", body), body));
    const auto result = fixture.wait();
    CHECK(result.stage == CallStage::reply_awaited);
    CHECK(result.protocol_error);
    CHECK_FALSE(result.reply);
  }
}

TEST_CASE("a different token shows as a closed connection, not as a stall") {
  Fixture fixture;
  fixture.serve();
  fixture.start(loopback::address(fixture.server->port()), 5s, "another token");
  const auto result = fixture.wait();
  CHECK(result.stage == CallStage::reply_awaited);
  CHECK_FALSE(result.timed_out);
  CHECK_FALSE(result.protocol_error);
  CHECK(result.sys_errno == 0);
  CHECK(fixture.server->stats().bad_token == 1);
}

TEST_CASE("a connection reset while we wait is told by its errno") {
  Fixture fixture;
  const loopback::RawListener listener;
  fixture.start(loopback::address(listener.port()));
  {
    const auto connection = listener.accept_one(*fixture.loop);
    const linger at_once{1, 0};
    setsockopt(connection.fd.get(), SOL_SOCKET, SO_LINGER, &at_once, sizeof(at_once));
  }
  const auto result = fixture.wait();
  CHECK(result.stage != CallStage::done);
  CHECK(result.sys_errno == ECONNRESET);
}

TEST_CASE("a request too big for a frame fails without a connection") {
  Fixture fixture;
  auto request = samples::request(peer::MeetPair{peer::Blob(peer::kMaxFrameBytes, 'x')});
  fixture.call =
      peer::Call::start(*fixture.loop, loopback::address(9), {}, kToken, std::move(request), 1s,
                        [&](peer::CallResult outcome) { fixture.result = std::move(outcome); });
  CHECK_FALSE(fixture.result);  // never from inside start()
  CHECK(fixture.wait().sys_errno == EMSGSIZE);
}

TEST_CASE("a call may be destroyed inside its own callback") {
  Fixture fixture;
  fixture.serve();
  bool called = false;
  std::unique_ptr<peer::Call> call;
  for (const std::uint16_t port : {fixture.server->port(), std::uint16_t{1}}) {
    called = false;
    call = peer::Call::start(*fixture.loop, loopback::address(port), {}, kToken,
                             samples::request(peer::Dial{}), 5s, [&](const peer::CallResult&) {
                               called = true;
                               call.reset();
                             });
    REQUIRE(loopback::turn_until(*fixture.loop, [&] { return called; }));
    CHECK_FALSE(call);
  }
}

TEST_CASE("a destroyed call never calls back and leaves the server at once") {
  Fixture fixture;
  const loopback::RawListener listener;
  fixture.start(loopback::address(listener.port()), 20ms);
  auto connection = listener.accept_one(*fixture.loop);
  fixture.call.reset();
  CHECK(connection.wait_until_closed(*fixture.loop));
  bool waited = false;
  fixture.loop->after(40ms, [&] { waited = true; });
  REQUIRE(loopback::turn_until(*fixture.loop, [&] { return waited; }));
  CHECK_FALSE(fixture.result);
}
