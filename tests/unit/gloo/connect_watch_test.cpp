// SPDX-License-Identifier: Apache-2.0
//
// A connect is given up once, only while it is under way, and never after it came back in time.
#include "probes/gloo/connect_watch.h"

#include "tests/support/catch.h"

using collwatch::gloo_probe::ConnectWatch;
using namespace std::chrono_literals;

TEST_CASE("a connect past its deadline is given up once") {
  const auto start = ConnectWatch::Clock::now();
  ConnectWatch watch;
  CHECK_FALSE(watch.give_up(start + 1h));
  watch.begin(start + 10ms);
  CHECK_FALSE(watch.give_up(start + 9ms));
  CHECK(watch.give_up(start + 10ms));
  CHECK_FALSE(watch.give_up(start + 11ms));
  CHECK_FALSE(watch.end());
}

TEST_CASE("a connect that came back in time is not given up later") {
  const auto start = ConnectWatch::Clock::now();
  ConnectWatch watch;
  watch.begin(start + 10ms);
  CHECK(watch.end());
  CHECK_FALSE(watch.give_up(start + 1h));
}
