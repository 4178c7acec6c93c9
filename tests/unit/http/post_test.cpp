// SPDX-License-Identifier: Apache-2.0
//
// POST /api/v1/diagnose at the socket: which logs are taken, how they arrive, and that neither
// their size, nor their number, nor clients that go away hold up a scrape.
#include <arpa/inet.h>
#include <ifaddrs.h>
#include <unistd.h>

#include <atomic>
#include <condition_variable>
#include <iostream>
#include <mutex>
#include <thread>
#include <vector>

#include "exporters/http/server.h"
#include "exporters/json/documents.h"
#include "tests/golden/sample_snapshot.h"
#include "tests/support/catch.h"
#include "tests/unit/http/client.h"

using namespace collwatch;
using exporters::HttpServer;
using exporters::Reply;
using test::Connection;

namespace {

Reply json(const std::string& text) {
  return {200, exporters::kJsonContentType, std::make_shared<const std::string>(text)};
}

std::string contents(int fd) {
  std::string text;
  char buffer[65536];
  for (;;) {
    const ssize_t got = ::read(fd, buffer, sizeof buffer);
    if (got <= 0) break;
    text.append(buffer, static_cast<std::size_t>(got));
  }
  ::close(fd);
  return text;
}

/// Takes logs and answers when it is told to.
class Reader {
 public:
  ~Reader() { answer_all(); }

  exporters::DiagnosePort port() {
    exporters::DiagnosePort port;
    port.most_bytes = 100000;
    port.run = [this](int log, std::function<void(Reply)> answer) {
      const std::lock_guard lock(mutex_);
      logs_.push_back(contents(log));
      waiting_.push_back(std::move(answer));
      changed_.notify_all();
    };
    return port;
  }
  /// The logs so far, once there are so many.
  std::vector<std::string> logs(std::size_t count) {
    std::unique_lock lock(mutex_);
    REQUIRE(
        changed_.wait_for(lock, std::chrono::seconds(10), [&] { return logs_.size() >= count; }));
    return logs_;
  }
  bool waits_for(std::size_t count) {
    std::unique_lock lock(mutex_);
    return changed_.wait_for(lock, std::chrono::milliseconds(50),
                             [&] { return logs_.size() >= count; });
  }
  void answer_all() {
    std::vector<std::function<void(Reply)>> now;
    {
      const std::lock_guard lock(mutex_);
      now.swap(waiting_);
    }
    for (const auto& answer : now) answer(json("{\"verdict\": 1}"));
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  std::vector<std::string> logs_;
  std::vector<std::function<void(Reply)>> waiting_;
};

std::unique_ptr<HttpServer> serve(exporters::DiagnosePort port,
                                  const std::string& host = "127.0.0.1") {
  auto snapshot = std::make_shared<const exporters::Snapshot>(test::sample_snapshot());
  HttpServer::Callbacks callbacks{[snapshot] { return snapshot; }, [] { return 0.0; },
                                  std::move(port)};
  auto server = HttpServer::create(host, 0, std::move(callbacks));
  REQUIRE(server);
  return std::move(*server);
}

std::string head(std::size_t bytes, const std::string& more = "") {
  return "POST /api/v1/diagnose HTTP/1.1\r\nHost: x\r\nContent-Length: " + std::to_string(bytes) +
         "\r\n" + more + "\r\n";
}

bool scrape_works(std::uint16_t port) {
  return test::get(port, "/healthz").status == 200;
}

}  // namespace

TEST_CASE("a posted log arrives whole, is answered, and the connection lives on") {
  Reader reader;
  const auto server = serve(reader.port());
  Connection connection(server->port());
  std::string log;
  while (log.size() < 90000) log += "line " + std::to_string(log.size()) + "\n";
  for (std::size_t i = 1; i <= 3; ++i) {
    REQUIRE(connection.send(head(log.size()) + log));
    CHECK(reader.logs(i).back() == log);
    CHECK(scrape_works(server->port()));  // while it is being diagnosed
    reader.answer_all();
    const auto answer = test::parse(connection.read_response());
    CHECK(answer.status == 200);
    CHECK(answer.body == "{\"verdict\": 1}");
    CHECK(answer.has_header("Content-Type: application/json; charset=utf-8"));
  }
}

TEST_CASE("chunks are a log, too") {
  Reader reader;
  const auto server = serve(reader.port());
  Connection connection(server->port());
  REQUIRE(connection.send(
      "POST /api/v1/diagnose?x=1 HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n"
      "4\r\none\n\r\n4\r\ntwo\n\r\n0\r\n\r\n"));
  CHECK(reader.logs(1).back() == "one\ntwo\n");
  reader.answer_all();
  CHECK(test::parse(connection.read_response()).status == 200);
}

TEST_CASE("a log that is too large is refused by its head, or when it becomes too large") {
  Reader reader;
  const auto server = serve(reader.port());
  Connection announced(server->port());
  REQUIRE(announced.send(head(100001)));
  const auto refused = test::parse(announced.read_response());
  CHECK(refused.status == 413);
  CHECK(refused.body.find("larger than 100000 bytes: run collwatch diagnose") != std::string::npos);

  Connection growing(server->port());
  std::string chunks =
      "POST /api/v1/diagnose HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n";
  for (int i = 0; i < 40; ++i) chunks += "1000\r\n" + std::string(4096, 'x') + "\r\n";
  chunks += "0\r\n\r\n";
  REQUIRE(growing.send(chunks));
  CHECK(test::parse(growing.read_response()).status == 413);

  Connection exact(server->port());
  REQUIRE(exact.send(head(100000) + std::string(100000, 'x')));
  CHECK(reader.logs(1).back().size() == 100000);
}

TEST_CASE("an empty post, and one that lies about its size, are told so") {
  Reader reader;
  const auto server = serve(reader.port());
  Connection empty(server->port());
  REQUIRE(empty.send(head(0)));
  CHECK(test::parse(empty.read_response()).status == 400);
  Connection liar(server->port());
  REQUIRE(liar.send(head(50) + "short"));
  liar.finish_sending();
  bool closed = false;  // at once, or when the library finds it idle
  for (int tries = 0; tries < 4 && !closed; ++tries) closed = liar.is_closed_by_server();
  CHECK(closed);
  CHECK(scrape_works(server->port()));
}

TEST_CASE("more logs than there are places are told to come again, also while they arrive") {
  Reader reader;
  const auto server = serve(reader.port());
  Connection first(server->port());
  Connection second(server->port());
  REQUIRE(first.send(head(4) + "one\n"));
  reader.logs(1);
  REQUIRE(second.send(head(4) + "t"));  // takes its place with its head
  bool was_busy = false;
  for (int i = 0; i < 200 && !was_busy; ++i) {
    Connection third(server->port());
    REQUIRE(third.send(head(4)));
    const auto answer = test::parse(third.read_response());
    was_busy = answer.status == 503;
    if (was_busy) CHECK(answer.body.find("come again") != std::string::npos);
    if (!was_busy) ::usleep(10000);  // the second's head has not been read yet
  }
  CHECK(was_busy);
  CHECK(scrape_works(server->port()));
  REQUIRE(second.send("wo\n"));
  reader.logs(2);
  reader.answer_all();
  CHECK(test::parse(first.read_response()).status == 200);
  CHECK(test::parse(second.read_response()).status == 200);
}

TEST_CASE("a client that goes away gives its place back") {
  Reader reader;
  const auto server = serve(reader.port());
  for (int i = 0; i < 6; ++i) {
    Connection gone(server->port());
    REQUIRE(gone.send(head(400) + "the first bytes"));
  }
  for (std::size_t i = 1; i <= 4; ++i) {
    bool taken = false;
    for (int tries = 0; tries < 500 && !taken; ++tries) {
      Connection connection(server->port());
      REQUIRE(connection.send(head(4) + "log\n"));
      // No answer yet is what a log gets that was taken.
      taken = reader.waits_for(i);
      if (!taken) ::usleep(5000);
    }
    CHECK(taken);
    reader.answer_all();  // to nobody
  }
  CHECK(scrape_works(server->port()));
}

TEST_CASE("who may not post is told why") {
  Reader reader;
  auto off = reader.port();
  off.refusal = "http.diagnose is off";
  const auto closed = serve(off);
  Connection one(closed->port());
  REQUIRE(one.send(head(3) + "log"));
  const auto answer = test::parse(one.read_response());
  CHECK(answer.status == 403);
  CHECK(answer.body == "{\"schema\":1,\"error\":\"http.diagnose is off\"}");

  const auto open = serve(reader.port());
  Connection page(open->port());
  REQUIRE(page.send(head(3, "Origin: http://example.com\r\n") + "log"));
  CHECK(test::parse(page.read_response()).status == 403);

  const auto without = serve({});
  Connection nothing(without->port());
  REQUIRE(nothing.send(head(3) + "log"));
  CHECK(test::parse(nothing.read_response()).status == 405);
}

TEST_CASE("the page takes POST and nothing else") {
  Reader reader;
  const auto server = serve(reader.port());
  for (const char* method : {"GET", "PUT"}) {
    const auto answer = test::request(server->port(), method, "/api/v1/diagnose");
    CHECK(answer.status == 405);
    CHECK(answer.has_header("Allow: POST"));
  }
}

TEST_CASE("a client from elsewhere is refused although the port is open to it") {
  ifaddrs* all = nullptr;
  REQUIRE(getifaddrs(&all) == 0);
  std::string address;
  for (const ifaddrs* one = all; one != nullptr; one = one->ifa_next) {
    if (one->ifa_addr == nullptr || one->ifa_addr->sa_family != AF_INET) continue;
    char text[INET_ADDRSTRLEN] = "";
    inet_ntop(AF_INET, &reinterpret_cast<const sockaddr_in*>(one->ifa_addr)->sin_addr, text,
              sizeof text);
    if (std::string(text).rfind("127.", 0) != 0) address = text;
  }
  freeifaddrs(all);
  if (address.empty()) {
    std::cout << "SKIPPED: this host has no address besides loopback\n";
    return;
  }
  Reader reader;
  const auto server = serve(reader.port(), "0.0.0.0");
  Connection connection(server->port(), address);
  REQUIRE(connection.connected());
  REQUIRE(connection.send(head(3) + "log"));
  const auto answer = test::parse(connection.read_response());
  CHECK(answer.status == 403);
  CHECK(answer.body.find("http.auth_file") != std::string::npos);
}

TEST_CASE("while the agent says not now, nobody's log is taken, and why is told") {
  Reader reader;
  auto port = reader.port();
  std::atomic<bool> is_short{true};
  port.not_now = [&] { return is_short ? std::string("short of memory") : std::string(); };
  const auto server = serve(port);
  Connection refused(server->port());
  REQUIRE(refused.send(head(4) + "log\n"));
  const auto answer = test::parse(refused.read_response());
  CHECK(answer.status == 503);
  CHECK(answer.body.find("short of memory") != std::string::npos);
  is_short = false;
  Connection taken(server->port());
  REQUIRE(taken.send(head(4) + "log\n"));
  CHECK(reader.logs(1).size() == 1);
}

TEST_CASE("senders that make no progress are told so and give way to the next") {
  Reader reader;
  auto port = reader.port();
  port.grace = std::chrono::milliseconds(300);
  port.least_bytes_per_second = 10000;
  const auto server = serve(port);
  Connection silent(server->port());
  Connection dripping(server->port());
  REQUIRE(silent.send(head(50000) + "x"));
  REQUIRE(dripping.send(head(50000) + "x"));
  Connection early(server->port());
  REQUIRE(early.send(head(4) + "log\n"));
  CHECK(test::parse(early.read_response()).status == 503);  // both are in their grace

  std::string answer;
  for (int i = 0; i < 200; ++i) {
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
    (void)dripping.send("x");
    Connection third(server->port());
    REQUIRE(third.send(head(4) + "log\n"));
    if (!reader.waits_for(1)) continue;
    reader.answer_all();
    answer = third.read_response();
    break;
  }
  CHECK(test::parse(answer).status == 200);
  for (Connection* slow : {&silent, &dripping}) {
    const auto told = test::parse(slow->read_to_end());
    CHECK(told.status == 408);
    CHECK(told.body.find("slower than 10000 bytes a second") != std::string::npos);
  }
  CHECK(scrape_works(server->port()));
}

TEST_CASE("a sender that keeps the pace is read to the end, however long it takes") {
  Reader reader;
  auto port = reader.port();
  port.grace = std::chrono::milliseconds(50);
  port.least_bytes_per_second = 1000;
  const auto server = serve(port);
  Connection steady(server->port());
  const std::string piece(1000, '\n');
  REQUIRE(steady.send(head(20 * piece.size()) + piece));
  for (int i = 1; i < 20; ++i) {
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
    REQUIRE(steady.send(piece));
  }
  CHECK(reader.logs(1)[0].size() == 20 * piece.size());
  reader.answer_all();
  CHECK(test::parse(steady.read_response()).status == 200);
}

TEST_CASE("a server that stops answers whoever waits, and a late answer hurts nobody") {
  Reader reader;
  auto server = serve(reader.port());
  Connection waiting(server->port());
  REQUIRE(waiting.send(head(4) + "log\n"));
  reader.logs(1);
  server.reset();
  const std::string response = waiting.read_to_end();
  CHECK((response.empty() || test::parse(response).status == 503));
  reader.answer_all();
}
