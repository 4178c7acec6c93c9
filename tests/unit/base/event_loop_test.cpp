// SPDX-License-Identifier: Apache-2.0
//
// The event loop's promises: timers in order, removal from inside callbacks, reused fd numbers.
#include "daemon/base/event_loop.h"

#include <sys/epoll.h>
#include <unistd.h>

#include <array>
#include <vector>

#include "tests/support/catch.h"

using collwatch::base::EventLoop;
using namespace std::chrono_literals;

TEST_CASE("timers fire in order of their time and a cancelled one never does") {
  auto loop = EventLoop::create().value();
  std::vector<int> seen;
  loop->after(5ms, [&] { seen.push_back(2); });
  loop->after(1ms, [&] { seen.push_back(1); });
  const auto cancelled = loop->after(2ms, [&] { seen.push_back(99); });
  loop->cancel(cancelled);
  loop->after(10ms, [&] { loop->stop(); });
  REQUIRE(loop->run());
  CHECK(seen == std::vector<int>{1, 2});
}

TEST_CASE("a watch removed by another callback of the same turn is not called") {
  auto loop = EventLoop::create().value();
  std::array<int, 2> a{};
  std::array<int, 2> b{};
  REQUIRE(pipe(a.data()) == 0);
  REQUIRE(pipe(b.data()) == 0);
  int calls = 0;
  const auto once = [&](int other) {
    return [&, other](std::uint32_t) {
      ++calls;
      loop->unwatch(other);
    };
  };
  REQUIRE(loop->watch(a[0], EPOLLIN, once(b[0])));
  REQUIRE(loop->watch(b[0], EPOLLIN, once(a[0])));
  REQUIRE(write(a[1], "x", 1) == 1);
  REQUIRE(write(b[1], "x", 1) == 1);
  REQUIRE(loop->turn(10ms));
  CHECK(calls == 1);
  for (int fd : {a[0], a[1], b[0], b[1]}) close(fd);
}

TEST_CASE("a watch may unwatch itself from inside its callback") {
  auto loop = EventLoop::create().value();
  std::array<int, 2> fds{};
  REQUIRE(pipe(fds.data()) == 0);
  int calls = 0;
  REQUIRE(loop->watch(fds[0], EPOLLIN, [&](std::uint32_t) {
    ++calls;
    loop->unwatch(fds[0]);
  }));
  REQUIRE(write(fds[1], "x", 1) == 1);
  REQUIRE(loop->turn(10ms));
  REQUIRE(loop->turn(1ms));
  CHECK(calls == 1);
  close(fds[0]);
  close(fds[1]);
}
