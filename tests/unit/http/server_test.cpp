// SPDX-License-Identifier: Apache-2.0
//
// The server against real sockets: what a scrape sees, bad addresses, and clients that mean harm.
#include "exporters/http/server.h"

#include <fcntl.h>
#include <sys/resource.h>

#include <atomic>
#include <filesystem>
#include <iostream>
#include <memory>
#include <vector>

#include "exporters/http/listener.h"
#include "tests/golden/sample_snapshot.h"
#include "tests/support/catch.h"
#include "tests/unit/http/client.h"

using namespace collwatch;
using exporters::HttpServer;
using exporters::Snapshot;
using test::Connection;
using test::get;

namespace {

HttpServer::Callbacks callbacks() {
  auto snapshot = std::make_shared<const Snapshot>(test::sample_snapshot());
  return {[snapshot] { return snapshot; }, [] { return 0.0; }};
}

std::unique_ptr<HttpServer> serve() {
  auto server = HttpServer::create("127.0.0.1", 0, callbacks());
  REQUIRE(server);
  return std::move(*server);
}

bool scrape_works(std::uint16_t port) {
  const auto answer = get(port, "/metrics");
  return answer.status == 200 && answer.body.find("collwatch_build_info{") != std::string::npos;
}

}  // namespace

TEST_CASE("a scrape gets the page with exact headers") {
  const auto server = serve();
  const auto answer = get(server->port(), "/metrics?collect=all");
  CHECK(answer.status == 200);
  CHECK(answer.has_header("Content-Type: text/plain; version=0.0.4; charset=utf-8"));
  CHECK(answer.has_header("X-Content-Type-Options: nosniff"));
  CHECK(answer.has_header("Cache-Control: no-store"));
  CHECK(answer.has_header("Content-Length: " + std::to_string(answer.body.size())));
}

TEST_CASE("one connection serves many requests") {
  const auto server = serve();
  Connection connection(server->port());
  for (int i = 0; i < 20; ++i) {
    REQUIRE(connection.send("GET /healthz HTTP/1.1\r\nHost: x\r\n\r\n"));
    CHECK(test::parse(connection.read_response()).body == "ok\n");
  }
}

TEST_CASE("HEAD has the head of GET and no body") {
  const auto server = serve();
  const auto answer = test::request(server->port(), "HEAD", "/healthz");
  CHECK(answer.status == 200);
  CHECK(answer.has_header("Content-Length: 3"));
  CHECK(answer.body.empty());
}

TEST_CASE("other methods are told what is served") {
  const auto server = serve();
  for (const char* method : {"POST", "PUT", "DELETE", "OPTIONS", "BREW"}) {
    const auto answer = test::request(server->port(), method, "/metrics");
    CHECK(answer.status == 405);
    CHECK(answer.has_header("Allow: GET, HEAD"));
    CHECK(answer.has_header("Content-Type: application/json; charset=utf-8"));
  }
  Connection connection(server->port());
  connection.send("POST /api/v1/status HTTP/1.1\r\nHost: x\r\nContent-Length: 5\r\n\r\nhello");
  CHECK(test::parse(connection.read_response()).status == 405);
}

TEST_CASE("what does not exist is a 404") {
  const auto server = serve();
  CHECK(get(server->port(), "/nope").status == 404);
  CHECK(get(server->port(), "/metrics%00").status != 500);
}

TEST_CASE("the daemon's state is read anew for each request") {
  std::atomic<double> stuck{0};
  auto snapshot = std::make_shared<const Snapshot>(test::sample_snapshot());
  auto server = HttpServer::create("127.0.0.1", 0,
                                   {[snapshot] { return snapshot; }, [&] { return stuck.load(); }});
  REQUIRE(server);
  CHECK(get((*server)->port(), "/healthz").status == 200);
  stuck = 60;
  CHECK(get((*server)->port(), "/healthz").status == 503);
}

TEST_CASE("IPv6 works, and :: serves both families") {
  if (!exporters::listen_on("::1", 0)) {
    std::cout << "SKIPPED: this host has no IPv6 loopback\n";
    return;
  }
  auto server = HttpServer::create("[::]", 0, callbacks());
  REQUIRE(server);
  CHECK(test::request((*server)->port(), "GET", "/healthz", true).status == 200);
  CHECK(test::request((*server)->port(), "GET", "/healthz", false).status == 200);
}

TEST_CASE("an address that cannot be had is one sentence") {
  const auto server = serve();
  const auto taken = HttpServer::create("127.0.0.1", server->port(), callbacks());
  REQUIRE_FALSE(taken);
  CHECK(taken.error().code == model::ErrorCode::in_use);
  CHECK(taken.error().text == "cannot listen on 127.0.0.1:" + std::to_string(server->port()) +
                                  ": Address already in use");

  const auto foreign = HttpServer::create("192.0.2.1", 9781, callbacks());
  REQUIRE_FALSE(foreign);
  CHECK(foreign.error().text == "cannot listen on 192.0.2.1:9781: Cannot assign requested address");

  const auto nonsense = HttpServer::create("no such host", 9781, callbacks());
  REQUIRE_FALSE(nonsense);
  CHECK(nonsense.error().text.find("cannot listen on no such host:9781: ") == 0);

  const auto foreign6 = HttpServer::create("[2001:db8::1]", 9781, callbacks());
  REQUIRE_FALSE(foreign6);
  CHECK(foreign6.error().text.find("cannot listen on [2001:db8::1]:9781: ") == 0);
}

TEST_CASE("a port is free again as soon as its server is gone") {
  auto server = serve();
  const auto port = server->port();
  CHECK(get(port, "/healthz").status == 200);
  server.reset();
  auto again = HttpServer::create("127.0.0.1", port, callbacks());
  REQUIRE(again);
  CHECK(get(port, "/healthz").status == 200);
}

TEST_CASE("no descriptor of the server is inherited by child processes") {
  const auto server = serve();
  Connection connection(server->port());
  REQUIRE(connection.send("GET /healthz HTTP/1.1\r\nHost: x\r\n\r\n"));
  (void)connection.read_response();
  int checked = 0;
  for (int fd = 3; fd < 64; ++fd) {
    const int flags = fcntl(fd, F_GETFD);
    std::error_code error;
    const auto link =
        std::filesystem::read_symlink("/proc/self/fd/" + std::to_string(fd), error).string();
    const bool ours = link.rfind("socket:", 0) == 0 ||
                      link.find("eventpoll") != std::string::npos ||
                      link.find("eventfd") != std::string::npos;
    if (flags < 0 || !ours) continue;
    INFO(fd << " " << link);
    CHECK((flags & FD_CLOEXEC) != 0);
    ++checked;
  }
  CHECK(checked >= 4);  // listener, accepted, epoll, our own client
}

TEST_CASE("half-open, dripping and garbling clients do not keep others from their scrape") {
  const auto server = serve();
  const auto port = server->port();
  std::vector<Connection> rude;
  for (int i = 0; i < 50; ++i) {
    rude.emplace_back(port);  // says nothing at all
    rude.emplace_back(port);
    rude.back().send("GET /metr");  // and nothing more
    rude.emplace_back(port);
    rude.back().send("GET /metrics HTTP/1.1\r\nX-Slow: ");
    rude.emplace_back(port);
    rude.back().send("GET /metrics HTTP/1.1\r\nHost: x\r\n\r\n");  // and never reads
    rude.emplace_back(port);
    rude.back().finish_sending();
  }
  CHECK(scrape_works(port));
  for (auto& connection : rude) connection.send("x");  // one more drop
  CHECK(scrape_works(port));
}

TEST_CASE("garbage harms only the connection that it came on") {
  const auto server = serve();
  const auto port = server->port();
  const std::string noise[] = {
      std::string("\0\1\2\3\xff\xfe", 6) + "\r\n\r\n",
      "GET\r\n\r\n",
      "\r\n\r\n\r\n\r\n",
      std::string(100000, '\n'),
      "POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 99999999999999999999\r\n\r\n",
      "POST / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\nZZZ\r\n",
      "GET / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\nZZZ\r\n",
      "\x16\x03\x01\x02\x01\x01\x01\x01\xfc\x03\x03 a TLS hello\r\n\r\n",
  };
  std::vector<Connection> open;
  for (const std::string& bytes : noise) {
    open.emplace_back(port);
    open.back().send(bytes);
    CHECK(scrape_works(port));
    open.back().finish_sending();
    CHECK(scrape_works(port));
  }
}

TEST_CASE("a request beyond the buffer, or of no known protocol, is refused") {
  const auto server = serve();
  for (const std::string& bytes :
       {"GET /" + std::string(20000, 'a') + " HTTP/1.1\r\nHost: x\r\n\r\n",
        "GET / HTTP/1.1\r\nHost: x\r\n" + std::string(20000, 'h') + ": x\r\n\r\n",
        std::string("GET / HTTP/9.9\r\nHost: x\r\n\r\n")}) {
    Connection connection(server->port());
    connection.send(bytes);
    const int status = test::parse(connection.read_response()).status;
    INFO(bytes.substr(0, 40));
    CHECK((status >= 400 || status == 0));
    CHECK(scrape_works(server->port()));
  }
}

TEST_CASE("six hundred held connections leave room for the next scrape") {
  rlimit limit{};
  getrlimit(RLIMIT_NOFILE, &limit);
  const rlim_t wanted = 1600;
  if (limit.rlim_max < wanted) {
    std::cout << "SKIPPED: no more than " << limit.rlim_max << " descriptors allowed here\n";
    return;
  }
  limit.rlim_cur = std::max(limit.rlim_cur, wanted);
  setrlimit(RLIMIT_NOFILE, &limit);

  const auto server = serve();
  const auto port = server->port();
  std::vector<Connection> held;
  for (int i = 0; i < 600; ++i) {
    held.emplace_back(port);
    REQUIRE(held.back().connected());
    held.back().send("GET /metrics HTTP/1.1\r\nX-Drip: ");
  }
  for (int i = 0; i < 5; ++i) CHECK(scrape_works(port));
  CHECK(held.front().is_closed_by_server());  // the oldest made room
}
