// SPDX-License-Identifier: Apache-2.0
//
// The server against raw clients: tokens, replays, garbage, floods, silence, and lifetimes.
#include "daemon/peer/server.h"

#include <dirent.h>

#include <vector>

#include "tests/unit/peer/loopback.h"

using namespace collwatch;
using namespace std::chrono_literals;
using loopback::RawConnection;
using loopback::turn_until;

namespace {

constexpr const char* kToken = "the token";

/// A server that notes its requests and answers at once, unless told to keep the responders.
struct Fixture {
  explicit Fixture(const config::Endpoint& listen = {"127.0.0.1", 0}) {
    auto created =
        peer::Server::create(*loop, listen, kToken,
                             [this](const peer::Request& request, const peer::Address& local,
                                    const peer::Address& remote, peer::Server::Responder respond) {
                               requests.push_back(request);
                               locals.push_back(local.text());
                               remotes.push_back(remote.host());
                               if (keep) return kept.push_back(std::move(respond));
                               respond(samples::reply(std::monostate{}));
                             });
    REQUIRE(created);
    server = std::move(*created);
  }

  RawConnection client(const std::string& from = "127.0.0.1") const {
    return RawConnection::to(server->port(), from);
  }
  const peer::Server::Stats& stats() const { return server->stats(); }

  /// A whole conversation on a fresh connection; true if it was answered.
  bool answers() {
    RawConnection good = client();
    good.write(loopback::request_frame(kToken, good.take_nonce(*loop), loopback::dial_body()));
    REQUIRE(good.wait_until_closed(*loop));
    return !good.received.empty();
  }

  std::unique_ptr<base::EventLoop> loop = base::EventLoop::create().value();
  std::vector<peer::Request> requests;
  std::vector<std::string> locals, remotes;
  bool keep = false;
  std::vector<peer::Server::Responder> kept;
  std::unique_ptr<peer::Server> server;
};

std::size_t open_descriptors() {
  std::size_t count = 0;
  DIR* folder = opendir("/proc/self/fd");
  while (readdir(folder) != nullptr) ++count;
  closedir(folder);
  return count;
}

}  // namespace

TEST_CASE("a good request reaches the handler with both addresses, and its reply the client") {
  Fixture fixture;
  RawConnection client = fixture.client("127.0.0.2");
  const std::string nonce = client.take_nonce(*fixture.loop);
  client.write(loopback::request_frame(kToken, nonce, loopback::dial_body()));
  REQUIRE(client.wait_until_closed(*fixture.loop));
  REQUIRE(fixture.requests.size() == 1);
  CHECK(fixture.requests[0].from.name == "node-a");
  CHECK(fixture.locals[0] == "127.0.0.1:" + std::to_string(fixture.server->port()));
  CHECK(fixture.remotes[0] == "127.0.0.2");

  peer::FrameReader reader(peer::kMaxFrameBytes);
  REQUIRE(reader.append(client.received) == peer::FrameReader::State::complete);
  const peer::Frame frame = reader.take();
  const std::string client_nonce = fixture.requests[0].nonce;
  CHECK(frame.mac == peer::reply_mac(kToken, nonce, client_nonce, frame.body));
  CHECK(peer::decode_reply(frame.body)->from.name == "node-b");
}

TEST_CASE("a wrong token is refused and counted, and the handler never sees it") {
  Fixture fixture;
  for (const char* token : {"another token", ""}) {
    RawConnection client = fixture.client();
    const std::string nonce = client.take_nonce(*fixture.loop);
    client.write(loopback::request_frame(token, nonce, loopback::dial_body()));
    REQUIRE(client.wait_until_closed(*fixture.loop));
    CHECK(client.received.empty());
  }
  CHECK(fixture.stats().bad_token == 2);
  CHECK(fixture.requests.empty());
}

TEST_CASE("a request replayed on a new connection is refused") {
  Fixture fixture;
  RawConnection first = fixture.client();
  const std::string captured =
      loopback::request_frame(kToken, first.take_nonce(*fixture.loop), loopback::dial_body());
  first.write(captured);
  REQUIRE(first.wait_until_closed(*fixture.loop));
  REQUIRE(fixture.requests.size() == 1);
  RawConnection second = fixture.client();
  second.take_nonce(*fixture.loop);
  second.write(captured);
  REQUIRE(second.wait_until_closed(*fixture.loop));
  CHECK(second.received.empty());
  CHECK(fixture.requests.size() == 1);
  CHECK(fixture.stats().bad_token == 1);
}

TEST_CASE("garbage, oversized frames and authenticated nonsense are dropped and counted") {
  Fixture fixture;
  const auto refused = [&](const std::string& bytes) {
    RawConnection client = fixture.client();
    client.take_nonce(*fixture.loop);
    client.write(bytes);
    return client.wait_until_closed(*fixture.loop) && client.received.empty();
  };
  CHECK(refused("GET / HTTP/1.1\r\n\r\n"));
  CHECK(refused(peer::big_endian(peer::kMaxFrameBytes + 1)));
  CHECK(refused(std::string(4, '\0')));
  CHECK(fixture.stats().malformed == 3);

  RawConnection client = fixture.client();
  const std::string nonce = client.take_nonce(*fixture.loop);
  client.write(loopback::request_frame(kToken, nonce, "not cbor"));
  REQUIRE(client.wait_until_closed(*fixture.loop));
  CHECK(client.received.empty());
  CHECK(fixture.stats().malformed == 4);
  CHECK(fixture.answers());
}

TEST_CASE("a second request while the answer is pending ends the conversation") {
  Fixture fixture;
  fixture.keep = true;
  RawConnection client = fixture.client();
  const std::string request =
      loopback::request_frame(kToken, client.take_nonce(*fixture.loop), loopback::dial_body());
  client.write(request);
  REQUIRE(turn_until(*fixture.loop, [&] { return !fixture.kept.empty(); }));
  client.write(request);
  REQUIRE(client.wait_until_closed(*fixture.loop));
  CHECK(fixture.stats().malformed == 1);
  CHECK(fixture.requests.size() == 1);
}

TEST_CASE("silent and slow clients disturb nobody and are gone after two seconds") {
  Fixture fixture;
  RawConnection silent = fixture.client();
  RawConnection half = fixture.client();
  const std::string frame =
      loopback::request_frame(kToken, half.take_nonce(*fixture.loop), loopback::dial_body());
  half.write(frame.substr(0, frame.size() / 2));
  fixture.keep = true;
  RawConnection unanswered = fixture.client();
  const std::string nonce = unanswered.take_nonce(*fixture.loop);
  unanswered.write(loopback::request_frame(kToken, nonce, loopback::dial_body()));
  REQUIRE(turn_until(*fixture.loop, [&] { return !fixture.kept.empty(); }));
  fixture.keep = false;

  for (int i = 0; i < 20; ++i) REQUIRE(fixture.answers());
  CHECK(fixture.stats().timed_out == 0);
  for (RawConnection* stuck : {&silent, &half, &unanswered}) {
    CHECK(stuck->wait_until_closed(*fixture.loop));
  }
  CHECK(fixture.stats().timed_out == 3);
}

TEST_CASE("of 300 silent connections the youngest 256 are kept, and nothing leaks") {
  Fixture fixture;
  const std::size_t before = open_descriptors();
  {
    std::vector<RawConnection> crowd;
    for (std::size_t i = 0; i < 300; ++i) {
      crowd.push_back(fixture.client("127.0.0." + std::to_string(2 + i / 100)));
      REQUIRE(turn_until(*fixture.loop, [&] { return fixture.stats().accepted == crowd.size(); }));
    }
    CHECK(fixture.stats().over_limit == 44);
    CHECK(crowd.front().wait_until_closed(*fixture.loop));
    CHECK_FALSE(crowd.back().take_nonce(*fixture.loop).empty());
    CHECK(open_descriptors() <= before + 300 + 256);
  }
  REQUIRE(turn_until(*fixture.loop, [&] { return open_descriptors() == before; }));
  CHECK(fixture.answers());
}

TEST_CASE("whoever holds every place and says nothing keeps nobody out") {
  Fixture fixture;
  std::vector<RawConnection> crowd;
  for (std::size_t i = 0; i < 256; ++i) {
    crowd.push_back(fixture.client("127.0.1." + std::to_string(1 + i / 8)));
    REQUIRE(turn_until(*fixture.loop, [&] { return fixture.stats().accepted == crowd.size(); }));
  }
  CHECK(fixture.answers());
  CHECK(fixture.stats().over_limit == 1);
}

TEST_CASE("who is being answered is not sent away for who has just come") {
  Fixture fixture;
  fixture.keep = true;
  std::vector<RawConnection> meeting;
  for (std::size_t i = 0; i < 128; ++i) {
    meeting.push_back(fixture.client());
    const std::string nonce = meeting.back().take_nonce(*fixture.loop);
    meeting.back().write(loopback::request_frame(kToken, nonce, loopback::dial_body()));
    REQUIRE(turn_until(*fixture.loop, [&] { return fixture.kept.size() == meeting.size(); }));
  }
  RawConnection late = fixture.client();
  CHECK(late.wait_until_closed(*fixture.loop));
  CHECK(late.received.empty());
  fixture.kept.front()(samples::reply(std::monostate{}));
  CHECK(meeting.front().wait_until_closed(*fixture.loop));
  CHECK_FALSE(meeting.front().received.empty());
}

TEST_CASE("one address of this host may not take everything") {
  Fixture fixture;
  std::vector<RawConnection> crowd;
  for (int i = 0; i < 130; ++i) crowd.push_back(fixture.client());
  REQUIRE(turn_until(*fixture.loop, [&] { return fixture.stats().over_limit == 2; }));
  CHECK(crowd[0].wait_until_closed(*fixture.loop));
  CHECK(crowd[1].wait_until_closed(*fixture.loop));
  RawConnection other = fixture.client("127.0.0.9");
  CHECK_FALSE(other.take_nonce(*fixture.loop).empty());
}

TEST_CASE("clients that gave up while the server was stopped keep nobody out") {
  Fixture fixture;
  for (int i = 0; i < 200; ++i) fixture.client();  // connects and closes; the loop stands still
  RawConnection patient = fixture.client();
  CHECK_FALSE(patient.take_nonce(*fixture.loop).empty());
  CHECK(fixture.stats().over_limit == 0);
  CHECK(fixture.stats().accepted == 1);
}

TEST_CASE("a responder may come late, twice, or after its client, and a big answer arrives whole") {
  Fixture fixture;
  fixture.keep = true;
  const auto ask = [&](RawConnection& client) {
    const std::size_t already = fixture.kept.size();
    const std::string nonce = client.take_nonce(*fixture.loop);
    client.write(loopback::request_frame(kToken, nonce, loopback::dial_body()));
    REQUIRE(turn_until(*fixture.loop, [&] { return fixture.kept.size() > already; }));
  };
  peer::GroupMet big;
  big.blobs.assign(60, peer::Blob(1000, 'x'));

  RawConnection patient =
      RawConnection::to(fixture.server->port(), "127.0.0.1", RawConnection::Path::narrow);
  ask(patient);
  {
    RawConnection impatient = fixture.client();
    ask(impatient);
  }
  for (int i = 0; i < 20; ++i) REQUIRE(fixture.loop->turn(1ms));  // notices that it has gone
  fixture.kept[1](samples::reply(std::monostate{}));
  fixture.kept[0](samples::reply(big));  // does not go out at once
  fixture.kept[0](samples::reply(std::monostate{}));
  REQUIRE(patient.wait_until_closed(*fixture.loop));
  peer::FrameReader reader(peer::kMaxFrameBytes);
  REQUIRE(reader.append(patient.received) == peer::FrameReader::State::complete);
  const auto reply = peer::decode_reply(reader.take().body).value();
  CHECK(std::get<peer::GroupMet>(reply.body).blobs.size() == 60);
}

TEST_CASE("a responder outlives its server, and a handler may destroy it") {
  Fixture fixture;
  fixture.keep = true;
  RawConnection client = fixture.client();
  const std::string nonce = client.take_nonce(*fixture.loop);
  client.write(loopback::request_frame(kToken, nonce, loopback::dial_body()));
  REQUIRE(turn_until(*fixture.loop, [&] { return !fixture.kept.empty(); }));
  fixture.server.reset();
  fixture.kept[0](samples::reply(std::monostate{}));
  CHECK(client.wait_until_closed(*fixture.loop));
  CHECK(client.received.empty());

  std::unique_ptr<peer::Server> doomed;
  auto created =
      peer::Server::create(*fixture.loop, {"127.0.0.1", 0}, kToken,
                           [&](const peer::Request&, const peer::Address&, const peer::Address&,
                               const peer::Server::Responder& respond) {
                             doomed.reset();
                             respond(samples::reply(std::monostate{}));
                           });
  REQUIRE(created);
  doomed = std::move(*created);
  RawConnection last = RawConnection::to(doomed->port());
  const std::string last_nonce = last.take_nonce(*fixture.loop);
  last.write(loopback::request_frame(kToken, last_nonce, loopback::dial_body()));
  CHECK(last.wait_until_closed(*fixture.loop));
  CHECK_FALSE(doomed);
}

TEST_CASE("a new token holds for new conversations, the old one for those under way") {
  Fixture fixture;
  RawConnection under_way = fixture.client();
  const std::string nonce = under_way.take_nonce(*fixture.loop);
  fixture.server->set_token("the next token");
  under_way.write(loopback::request_frame(kToken, nonce, loopback::dial_body()));
  REQUIRE(under_way.wait_until_closed(*fixture.loop));
  CHECK_FALSE(under_way.received.empty());
  CHECK_FALSE(fixture.answers());
  CHECK(fixture.stats().bad_token == 1);
}

TEST_CASE("a taken port is named in one sentence") {
  Fixture fixture;
  const config::Endpoint taken{"127.0.0.1", fixture.server->port()};
  const auto again = peer::Server::create(*fixture.loop, taken, kToken, nullptr);
  REQUIRE_FALSE(again);
  CHECK(again.error().text ==
        "cannot listen on 127.0.0.1:" + std::to_string(taken.port) + ": address already in use");
  CHECK(again.error().code == model::ErrorCode::in_use);

  const auto elsewhere = peer::Server::create(*fixture.loop, {"192.0.2.1", 9782}, kToken, nullptr);
  REQUIRE_FALSE(elsewhere);
  CHECK(elsewhere.error().text ==
        "cannot listen on 192.0.2.1:9782: cannot assign requested address");
}

TEST_CASE("the wildcard listener takes IPv4 clients, shown as such") {
  Fixture fixture(config::Endpoint{"::", 0});
  CHECK(fixture.answers());
  CHECK(fixture.remotes == std::vector<std::string>{"127.0.0.1"});
  CHECK(fixture.locals[0].rfind("127.0.0.1:", 0) == 0);
}
