// SPDX-License-Identifier: Apache-2.0
//
// GET under a deadline, and from inside a network namespace: the server here listens where nobody
// else can reach it.
#include "daemon/http_client/http_client.h"

#include <net/if.h>
#include <netinet/in.h>
#include <sched.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <future>
#include <iostream>
#include <memory>
#include <thread>

#include "tests/integration/cli/fake_agent.h"
#include "tests/support/catch.h"

using namespace collwatch;
using namespace std::chrono_literals;

namespace {

/// A thread in a network namespace of its own with loopback up; `path` names the namespace.
class Elsewhere {
 public:
  Elsewhere() {
    std::promise<std::string> ready;
    auto path = ready.get_future();
    thread_ = std::thread([this, &ready] {
      if (unshare(CLONE_NEWNET) != 0 || !loopback_up()) {
        ready.set_value("");
        return;
      }
      agent_ = std::make_unique<test::FakeAgent>(
          std::map<std::string, test::FakeReply>{{"/where", {200, "elsewhere"}}});
      ready.set_value("/proc/" + std::to_string(getpid()) + "/task/" +
                      std::to_string(syscall(SYS_gettid)) + "/ns/net");
      leave_.get_future().wait();
      agent_.reset();
    });
    path_ = path.get();
  }
  ~Elsewhere() {
    leave_.set_value();
    thread_.join();
  }
  const std::string& path() const { return path_; }
  std::string url() const { return agent_->url(); }

 private:
  static bool loopback_up() {
    const int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    ifreq request{};
    std::strncpy(request.ifr_name, "lo", sizeof request.ifr_name - 1);
    request.ifr_flags = IFF_UP | IFF_RUNNING;
    const bool up = ioctl(fd, SIOCSIFFLAGS, &request) == 0;
    close(fd);
    return up;
  }

  std::string path_;
  std::unique_ptr<test::FakeAgent> agent_;
  std::promise<void> leave_;
  std::thread thread_;
};

std::string own_namespace() {
  char text[64] = "";
  const ssize_t n = readlink("/proc/thread-self/ns/net", text, sizeof text - 1);
  return {text, static_cast<std::size_t>(n > 0 ? n : 0)};
}

}  // namespace

TEST_CASE("any status is a reply") {
  const test::FakeAgent agent({{"/a", {200, "hello"}}, {"/b", {503, "not yet"}}});
  const auto a = http_client::http_get(agent.url() + "/a", 5s);
  REQUIRE(a);
  CHECK(a->status == 200);
  CHECK(a->body == "hello");
  const auto b = http_client::http_get(agent.url() + "/b", 5s);
  REQUIRE(b);
  CHECK(b->status == 503);
  CHECK(b->body == "not yet");
}

TEST_CASE("no reply is an error with the reason") {
  const auto refused = http_client::http_get("http://127.0.0.1:1/", 5s);
  REQUIRE_FALSE(refused);
  CHECK(refused.error().text == "http://127.0.0.1:1/: Connection refused");
  CHECK(refused.error().sys_errno == ECONNREFUSED);
  CHECK(http_client::http_get("file:///etc/passwd", 5s).error().code ==
        model::ErrorCode::invalid_argument);
}

TEST_CASE("silence ends at the deadline") {
  // A listener whose backlog accepts the connection, and nobody who reads.
  const int silent = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  REQUIRE(listen(silent, 1) == 0);
  sockaddr_in address{};
  socklen_t length = sizeof address;
  REQUIRE(getsockname(silent, reinterpret_cast<sockaddr*>(&address), &length) == 0);
  const auto reply = http_client::http_get(
      "http://127.0.0.1:" + std::to_string(ntohs(address.sin_port)) + "/", 100ms);
  close(silent);
  REQUIRE_FALSE(reply);
  CHECK(reply.error().code == model::ErrorCode::timeout);
}

TEST_CASE("a reply that never ends is cut off") {
  const test::FakeAgent agent(
      {{"/huge", {200, std::string(http_client::kMaxReplyBytes + 1, 'x')}}});
  const auto reply = http_client::http_get(agent.url() + "/huge", 20s);
  REQUIRE_FALSE(reply);
  CHECK(reply.error().code == model::ErrorCode::limit);
}

TEST_CASE("a server inside a namespace is reached from inside it only, and the caller returns") {
  const Elsewhere elsewhere;
  if (elsewhere.path().empty()) {
    std::cout << "SKIPPED: may not make a network namespace\n";
    return;
  }
  const std::string before = own_namespace();
  const auto inside = http_client::http_get(elsewhere.url() + "/where", 5s, elsewhere.path());
  REQUIRE(inside);
  CHECK(inside->body == "elsewhere");
  CHECK(own_namespace() == before);
  CHECK_FALSE(http_client::http_get(elsewhere.url() + "/where", 5s));
}

TEST_CASE("a namespace that does not exist is named") {
  const auto reply = http_client::http_get("http://127.0.0.1:1/", 5s, "no-such-namespace");
  REQUIRE_FALSE(reply);
  CHECK(reply.error().text ==
        "network namespace /run/netns/no-such-namespace: No such file or directory");
  CHECK(reply.error().code == model::ErrorCode::not_found);
}
