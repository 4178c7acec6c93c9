// SPDX-License-Identifier: Apache-2.0
//
// http.auth_file at the socket: which pages ask for a password, which passwords are right, and that
// guessing costs little and holds up nobody.
#include "exporters/http/access.h"

#include <unistd.h>

#include <chrono>
#include <condition_variable>
#include <thread>

#include "exporters/http/password.h"
#include "exporters/http/server.h"
#include "exporters/json/documents.h"
#include "tests/golden/sample_snapshot.h"
#include "tests/support/catch.h"
#include "tests/unit/http/client.h"

using namespace collwatch;
using exporters::Access;
using exporters::Admission;
using exporters::HttpServer;
using exporters::HttpUser;
using test::Connection;

namespace {

// "secret" twice and "other", as openssl passwd and crypt(3) make them; cheap ones.
const HttpUser kSha512{"ann",
                       "$6$saltsalt$TVLlQcbpFVof5W3Yz4DTP6gRstiNuHwwTt6GLc1E5n0U0aDehy0S5kn"
                       "V8wiOQSpT0Y77vwPZN.Pq.H91p5hVO1"};
const HttpUser kYescrypt{"bob", "$y$j75$abcdefgh$n084k7OtaC7.OzRlz1ZpVDhwH.hGmb7qLiljKgjy00C"};
/// A few hundred milliseconds a try.
const HttpUser kSlow{"cy", "$6$rounds=500000$saltsalt$" + std::string(86, 'x')};

const std::string kAnn = "Basic YW5uOnNlY3JldA==";       // ann:secret
const std::string kBob = "Basic Ym9iOm90aGVy";           // bob:other
const std::string kWrong = "Basic YW5uOndyb25n";         // ann:wrong
const std::string kStranger = "Basic ZGFuOnNlY3JldA==";  // dan:secret
const std::string kCy = "Basic Y3k6Z3Vlc3M=";            // cy:guess

std::unique_ptr<HttpServer> serve(std::vector<HttpUser> users) {
  auto snapshot = std::make_shared<const exporters::Snapshot>(test::sample_snapshot());
  HttpServer::Callbacks callbacks;
  callbacks.snapshot = [snapshot] { return snapshot; };
  callbacks.seconds_since_turn = [] { return 0.0; };
  callbacks.users = std::move(users);
  callbacks.diagnose.run = [](int log, std::function<void(exporters::Reply)> answer) {
    ::close(log);
    answer({200, exporters::kJsonContentType, std::make_shared<const std::string>("{}")});
  };
  auto server = HttpServer::create("127.0.0.1", 0, std::move(callbacks));
  REQUIRE(server);
  return std::move(*server);
}

test::Answer ask(const HttpServer& server, const std::string& path, const std::string& header,
                 const std::string& method = "GET", const std::string& body = "") {
  Connection connection(server.port());
  REQUIRE(connection.connected());
  std::string request = method + " " + path + " HTTP/1.1\r\nHost: x\r\nConnection: close\r\n";
  if (!header.empty()) request += "Authorization: " + header + "\r\n";
  if (!body.empty()) request += "Content-Length: " + std::to_string(body.size()) + "\r\n";
  REQUIRE(connection.send(request + "\r\n" + body));
  return test::parse(connection.read_to_end());
}

/// As a client does that is told to come again.
test::Answer ask_until_judged(const HttpServer& server, const std::string& header) {
  for (int i = 0; i < 200; ++i) {
    const auto answer = ask(server, "/metrics", header);
    if (answer.status != 503) return answer;
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
  }
  return {};
}

}  // namespace

TEST_CASE("hashes of every kind that is taken are understood") {
  CHECK(exporters::is_password_of("secret", kSha512.password_hash));
  CHECK(exporters::is_password_of("other", kYescrypt.password_hash));
  CHECK(exporters::is_password_of(
      "secret", "$5$rounds=1000$saltsalt$eKLZU9t9OoPWrqOQsoTIKG0aYkZ5rGOoOQhiIvoSWX2"));
  CHECK_FALSE(exporters::is_password_of("Secret", kSha512.password_hash));
  CHECK_FALSE(exporters::is_password_of("", kSha512.password_hash));
  for (const char* hash : {"", "*0", "$6$", "secret", "$zz$a$b", "xx"}) {
    CHECK_FALSE(exporters::is_password_of("secret", hash));
    CHECK_FALSE(exporters::is_password_of("", hash));
  }
}

TEST_CASE("pages ask for a password, but for what orchestrators ask") {
  const auto server = serve({kSha512, kYescrypt});
  for (const char* path : {"/metrics", "/api/v1/status", "/api/v1/verdicts", "/api/v1/events", "/",
                           "/nothing", "/healthz/", "//healthz"}) {
    INFO(path);
    const auto answer = ask(*server, path, "");
    CHECK(answer.status == 401);
    CHECK(answer.has_header("WWW-Authenticate: Basic realm=\"collwatch\", charset=\"UTF-8\""));
    CHECK(answer.body.find("collwatch_") == std::string::npos);
  }
  for (const char* path : {"/healthz", "/health", "/readyz"})
    CHECK(ask(*server, path, "").status == 200);
  CHECK(ask(*server, "/metrics", "", "HEAD").status == 401);
  CHECK(ask(*server, "/metrics", "", "DELETE").status == 401);
}

TEST_CASE("the right password opens, every other one does not") {
  const auto server = serve({kSha512, kYescrypt});
  CHECK(ask(*server, "/metrics", kAnn).status == 200);
  CHECK(ask(*server, "/api/v1/status", kBob).status == 200);
  CHECK(ask_until_judged(*server, kWrong).status == 401);
  CHECK(ask_until_judged(*server, kStranger).status == 401);
  for (const std::string& header :
       {std::string("Basic"), std::string("Basic "), std::string("Basic !!!!"),
        std::string("Basic YW5u"), std::string("Bearer YW5uOnNlY3JldA=="),
        std::string("YW5uOnNlY3JldA=="), "Basic " + std::string(3000, 'A')}) {
    INFO(header);
    CHECK(ask(*server, "/metrics", header).status == 401);
  }
  CHECK(ask(*server, "/metrics", "basic YW5uOnNlY3JldA==").status == 200);
}

TEST_CASE("a connection that has shown its password lives on and may ask again") {
  const auto server = serve({kSha512});
  Connection connection(server->port());
  const std::string request =
      "GET /api/v1/verdicts HTTP/1.1\r\nHost: x\r\nAuthorization: " + kAnn + "\r\n\r\n";
  for (int i = 0; i < 3; ++i) {
    Connection fresh(server->port());
    REQUIRE(fresh.send(request));
    CHECK(test::parse(fresh.read_response()).status == 200);
  }
  for (int i = 0; i < 3; ++i) {
    REQUIRE(connection.send(request));
    CHECK(test::parse(connection.read_response()).status == 200);
  }
}

TEST_CASE("a log is posted with a password, and not without") {
  const auto server = serve({kSha512});
  CHECK(ask(*server, "/api/v1/diagnose", "", "POST", "log\n").status == 401);
  const auto judged = ask(*server, "/api/v1/diagnose", kWrong, "POST", "log\n");
  CHECK(judged.status == 401);
  // Not hashed before, and hashed before.
  std::string log(50000, '\n');
  for (int i = 0; i < 200; ++i) {
    const auto answer = ask(*server, "/api/v1/diagnose", kAnn, "POST", log);
    if (answer.status == 503) {
      std::this_thread::sleep_for(std::chrono::milliseconds(50));
      continue;
    }
    CHECK(answer.status == 200);
    break;
  }
  CHECK(ask(*server, "/api/v1/diagnose", kAnn, "POST", log).status == 200);
}

TEST_CASE("other users count from the moment they are set") {
  const auto server = serve({kSha512});
  CHECK(ask(*server, "/metrics", kAnn).status == 200);
  server->set_users({kYescrypt});
  CHECK(ask_until_judged(*server, kAnn).status == 401);
  CHECK(ask_until_judged(*server, kBob).status == 200);
  server->set_users({});
  CHECK(ask(*server, "/metrics", "").status == 200);
}

TEST_CASE("a password is hashed once as long as it is right, and each time when it is wrong") {
  Access access;
  access.set_users({kSha512});
  const auto judge = [&](const std::string& header) {
    const Access::Asked asked = access.ask(header, "10.0.0.1");
    if (!asked.question) return asked.admission;
    std::mutex mutex;
    std::condition_variable changed;
    bool is_done = false;
    asked.question->wait([&] {
      const std::lock_guard lock(mutex);
      is_done = true;
      changed.notify_all();
    });
    std::unique_lock lock(mutex);
    REQUIRE(changed.wait_for(lock, std::chrono::seconds(20), [&] { return is_done; }));
    return *asked.question->answered();
  };
  for (int i = 0; i < 5; ++i) CHECK(judge(kAnn) == Admission::admitted);
  CHECK(access.hashed() == 1);
  for (int i = 0; i < 3; ++i) CHECK(judge(kWrong) == Admission::refused);
  CHECK(access.hashed() == 4);
}

TEST_CASE("of many guesses few wait, fewer of one address, and the others are told to come again") {
  Access access;
  access.set_users({kSlow, kSha512});
  std::vector<std::shared_ptr<exporters::Question>> waiting;
  std::size_t busy = 0;
  for (int i = 0; i < 40; ++i) {
    const auto asked = access.ask(kCy, i < 20 ? "10.0.0.1" : "10.0.1." + std::to_string(i));
    if (asked.question) {
      waiting.push_back(asked.question);
    } else {
      busy += asked.admission == Admission::busy ? 1U : 0U;
    }
    if (i == 19) CHECK(waiting.size() <= Access::kMostOfOneAddress + 1);  // one may be done
  }
  CHECK(waiting.size() <= Access::kMostWaiting + 2);
  CHECK(busy >= 30 - 2);
  access.stop();
  for (const auto& question : waiting) CHECK(question->answered());
  CHECK(access.ask(kAnn, "10.0.0.2").admission == Admission::busy);
}

TEST_CASE("who is known is served while others guess, and so is who needs no password") {
  const auto server = serve({kSha512, kSlow});
  CHECK(ask(*server, "/metrics", kAnn).status == 200);
  std::vector<Connection> guessers;
  for (int i = 0; i < 12; ++i) {
    guessers.emplace_back(server->port());
    REQUIRE(guessers.back().send("GET /metrics HTTP/1.1\r\nHost: x\r\nAuthorization: " + kCy +
                                 "\r\n\r\n"));
  }
  for (int i = 0; i < 10; ++i) {
    CHECK(ask(*server, "/metrics", kAnn).status == 200);
    CHECK(ask(*server, "/healthz", "").status == 200);
  }
}

TEST_CASE("a server that stops answers those whose password is being hashed") {
  auto server = serve({kSlow});
  Connection waiting(server->port());
  REQUIRE(waiting.send("GET /metrics HTTP/1.1\r\nHost: x\r\nAuthorization: " + kCy + "\r\n\r\n"));
  std::this_thread::sleep_for(std::chrono::milliseconds(20));
  server.reset();
  CHECK(waiting.read_to_end().find("(deadline)") == std::string::npos);
}
