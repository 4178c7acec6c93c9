// SPDX-License-Identifier: Apache-2.0
//
// The notify protocol against a real datagram socket that plays systemd: exact bytes, both kinds of
// address, and that nothing a status text or a dead receiver does can hurt the sender.
#include "exporters/systemd/notify.h"

#include <stdlib.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <array>
#include <cstddef>
#include <cstring>
#include <ctime>

#include "tests/support/catch.h"

using collwatch::systemd::Notifier;
using collwatch::systemd::NotifyEnvironment;
using namespace std::chrono_literals;

namespace {

/// A bound datagram socket; `name` is "/path" or "@abstract".
class Receiver {
 public:
  explicit Receiver(std::string name) : name_(std::move(name)) {
    fd_ = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    std::memcpy(address.sun_path, name_.data(), name_.size());
    const bool is_path = name_[0] == '/';
    if (!is_path) address.sun_path[0] = '\0';
    const auto length = offsetof(sockaddr_un, sun_path) + name_.size() + (is_path ? 1 : 0);
    REQUIRE(bind(fd_, reinterpret_cast<sockaddr*>(&address), static_cast<socklen_t>(length)) == 0);
  }
  ~Receiver() {
    close(fd_);
    if (name_[0] == '/') unlink(name_.c_str());
  }
  Receiver(const Receiver&) = delete;
  Receiver& operator=(const Receiver&) = delete;

  const std::string& name() const { return name_; }
  /// The next datagram; delivery between UNIX sockets is immediate, so no waiting.
  std::string receive() const {
    std::array<char, 4096> buffer{};
    const ssize_t n = recv(fd_, buffer.data(), buffer.size(), 0);
    return n < 0 ? "<none>" : std::string(buffer.data(), static_cast<std::size_t>(n));
  }

 private:
  std::string name_;
  int fd_ = -1;
};

std::string abstract_name() {
  static int count = 0;
  return "@collwatch-test-" + std::to_string(getpid()) + "-" + std::to_string(++count);
}

std::int64_t monotonic_usec() {
  timespec now{};
  clock_gettime(CLOCK_MONOTONIC, &now);
  return std::int64_t{now.tv_sec} * 1'000'000 + now.tv_nsec / 1000;
}

NotifyEnvironment with_watchdog(const char* usec, std::optional<std::string> pid) {
  return {"@collwatch-test-unused", usec, std::move(pid)};
}

}  // namespace

TEST_CASE("without NOTIFY_SOCKET every call succeeds and does nothing") {
  for (const auto& socket_name : {std::optional<std::string>{}, std::optional<std::string>{""}}) {
    const auto notifier = Notifier::create({socket_name, "10000000", std::nullopt});
    REQUIRE(notifier);
    CHECK_FALSE(notifier->enabled());
    CHECK(notifier->ready("x"));
    CHECK(notifier->watchdog());
    CHECK_FALSE(notifier->watchdog_interval());
  }
}

TEST_CASE("each call is one datagram with the protocol's bytes, to an abstract address") {
  const Receiver systemd(abstract_name());
  const auto notifier = Notifier::create({systemd.name(), std::nullopt, std::nullopt});
  REQUIRE(notifier);
  CHECK(notifier->enabled());

  REQUIRE(notifier->ready("watching 4 members"));
  CHECK(systemd.receive() == "READY=1\nSTATUS=watching 4 members");
  REQUIRE(notifier->status("n2 is suspected"));
  CHECK(systemd.receive() == "STATUS=n2 is suspected");
  REQUIRE(notifier->watchdog());
  CHECK(systemd.receive() == "WATCHDOG=1");
  REQUIRE(notifier->stopping("saying left"));
  CHECK(systemd.receive() == "STOPPING=1\nSTATUS=saying left");
  CHECK(systemd.receive() == "<none>");
}

TEST_CASE("a path address works too") {
  std::string folder = "/tmp/collwatch-notify-XXXXXX";
  REQUIRE(mkdtemp(folder.data()) != nullptr);
  {
    const Receiver systemd(folder + "/notify");
    const auto notifier = Notifier::create({systemd.name(), std::nullopt, std::nullopt});
    REQUIRE(notifier);
    REQUIRE(notifier->watchdog());
    CHECK(systemd.receive() == "WATCHDOG=1");
  }
  rmdir(folder.c_str());
}

TEST_CASE("a reload carries the monotonic time at which it began") {
  const Receiver systemd(abstract_name());
  const auto notifier = Notifier::create({systemd.name(), std::nullopt, std::nullopt});
  REQUIRE(notifier);
  const std::int64_t before = monotonic_usec();
  REQUIRE(notifier->reloading());
  const std::int64_t after = monotonic_usec();

  const std::string got = systemd.receive();
  const std::string prefix = "RELOADING=1\nMONOTONIC_USEC=";
  REQUIRE(got.substr(0, prefix.size()) == prefix);
  const std::int64_t sent = std::stoll(got.substr(prefix.size()));
  CHECK(sent >= before);
  CHECK(sent <= after);
}

TEST_CASE("a status text cannot smuggle in another assignment, nor grow without bound") {
  const Receiver systemd(abstract_name());
  const auto notifier = Notifier::create({systemd.name(), std::nullopt, std::nullopt});
  REQUIRE(notifier);
  REQUIRE(notifier->status("down\nMAINPID=1\r\x7f"));
  CHECK(systemd.receive() == "STATUS=down MAINPID=1  ");
  REQUIRE(notifier->status(std::string(100'000, 'x')));
  CHECK(systemd.receive().size() == 512 + std::string("STATUS=").size());
  // "é" is two bytes; 511 + 2 would be cut in its middle.
  REQUIRE(notifier->status(std::string(511, 'x') + "\xc3\xa9"));
  CHECK(systemd.receive() == "STATUS=" + std::string(511, 'x'));
}

TEST_CASE("a vanished receiver is an error, not a signal and not a wait") {
  std::string name;
  {
    const Receiver systemd(abstract_name());
    name = systemd.name();
  }
  const auto notifier = Notifier::create({name, std::nullopt, std::nullopt});
  REQUIRE(notifier);
  const auto sent = notifier->watchdog();
  REQUIRE_FALSE(sent);
  CHECK(sent.error().sys_errno == ECONNREFUSED);
}

TEST_CASE("a receiver that does not read never blocks the sender, and a later one is found") {
  const std::string name = abstract_name();
  const auto notifier = Notifier::create({name, std::nullopt, std::nullopt});
  REQUIRE(notifier);
  {
    const Receiver deaf(name);
    bool refused = false;
    for (int i = 0; i < 100'000 && !refused; ++i) {
      const auto sent = notifier->watchdog();
      refused = !sent && (sent.error().sys_errno == EAGAIN);
    }
    CHECK(refused);
  }
  const Receiver successor(name);
  REQUIRE(notifier->watchdog());
  CHECK(successor.receive() == "WATCHDOG=1");
}

TEST_CASE("addresses that cannot be spoken to are named") {
  for (const std::string& bad : {std::string("vsock:2:1234"), std::string("@"), std::string("/"),
                                 "/" + std::string(200, 'x'), "@" + std::string(200, 'x')}) {
    const auto notifier = Notifier::create({bad, std::nullopt, std::nullopt});
    REQUIRE_FALSE(notifier);
    CHECK(notifier.error().code == collwatch::model::ErrorCode::invalid_argument);
    CHECK(notifier.error().text.find(bad) != std::string::npos);
  }
}

TEST_CASE("the watchdog interval holds only for the process that it names") {
  const auto interval = [](const NotifyEnvironment& environment) {
    return Notifier::create(environment)->watchdog_interval();
  };
  const std::string me = std::to_string(getpid());
  CHECK(interval(with_watchdog("10000000", std::nullopt)) == std::chrono::microseconds(10s));
  CHECK(interval(with_watchdog("10000000", me)) == std::chrono::microseconds(10s));
  CHECK_FALSE(interval(with_watchdog("10000000", std::to_string(getpid() + 1))));
  CHECK_FALSE(interval(with_watchdog("10000000", "not a pid")));
  for (const char* bad : {"0", "", "10s", "-1", "99999999999999999999999"}) {
    CHECK_FALSE(interval(with_watchdog(bad, me)));
  }
}

TEST_CASE("the environment is read as it stands") {
  setenv("NOTIFY_SOCKET", "@x", 1);
  setenv("WATCHDOG_USEC", "5", 1);
  unsetenv("WATCHDOG_PID");
  const NotifyEnvironment environment = collwatch::systemd::read_notify_environment();
  CHECK(environment.notify_socket == "@x");
  CHECK(environment.watchdog_usec == "5");
  CHECK_FALSE(environment.watchdog_pid);
  unsetenv("NOTIFY_SOCKET");
  unsetenv("WATCHDOG_USEC");
}

TEST_CASE("a moved-from notifier is silent") {
  const Receiver systemd(abstract_name());
  auto first = Notifier::create({systemd.name(), std::nullopt, std::nullopt});
  REQUIRE(first);
  const Notifier second(std::move(*first));
  CHECK_FALSE(first->enabled());
  CHECK(first->watchdog());
  CHECK(systemd.receive() == "<none>");
  REQUIRE(second.watchdog());
  CHECK(systemd.receive() == "WATCHDOG=1");
}
