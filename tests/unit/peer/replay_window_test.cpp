// SPDX-License-Identifier: Apache-2.0
//
// A sequence number is taken once, late ones within the window too, older ones never.
#include "daemon/peer/replay_window.h"

#include <limits>
#include <random>
#include <set>

#include "tests/support/catch.h"

using collwatch::peer::ReplayWindow;

TEST_CASE("numbers in order are taken once each") {
  ReplayWindow window;
  for (std::uint64_t n = 1; n <= 200; ++n) {
    CHECK(window.take(n));
    CHECK_FALSE(window.take(n));
  }
  CHECK_FALSE(window.take(0));
}

TEST_CASE("a late number is taken once within the window and never behind it") {
  ReplayWindow window;
  REQUIRE(window.take(100));
  CHECK(window.take(100 - (ReplayWindow::kSize - 1)));
  CHECK_FALSE(window.take(100 - (ReplayWindow::kSize - 1)));
  CHECK_FALSE(window.take(100 - ReplayWindow::kSize));
  CHECK(window.take(99));
  CHECK_FALSE(window.take(99));
}

TEST_CASE("a jump of exactly the window, and beyond, forgets what is behind it") {
  for (const std::uint64_t jump : {ReplayWindow::kSize - 1, ReplayWindow::kSize,
                                   ReplayWindow::kSize + 1, std::uint64_t{1} << 40}) {
    ReplayWindow window;
    REQUIRE(window.take(10));
    CHECK(window.take(10 + jump));
    CHECK_FALSE(window.take(10));
    CHECK(window.highest() == 10 + jump);
  }
  ReplayWindow last;
  CHECK(last.take(std::numeric_limits<std::uint64_t>::max()));
  CHECK_FALSE(last.take(std::numeric_limits<std::uint64_t>::max()));
}

TEST_CASE("whatever the order, no number is taken twice") {
  std::mt19937 random(20240501);
  for (int trial = 0; trial < 20; ++trial) {
    ReplayWindow window;
    std::set<std::uint64_t> taken;
    for (int i = 0; i < 2000; ++i) {
      const std::uint64_t n = 1 + random() % 300;
      const bool expected = taken.count(n) == 0 && n + ReplayWindow::kSize > window.highest();
      const bool got = window.take(n);
      CHECK(got == expected);
      if (got) taken.insert(n);
    }
  }
}
