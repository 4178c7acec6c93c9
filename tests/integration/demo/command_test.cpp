// SPDX-License-Identifier: Apache-2.0
//
// System tools as the demo runs them: what they print, how they fail, and that none outstays its
// deadline.
#include "daemon/demo/command.h"

#include "tests/support/catch.h"
#include "tests/unit/demo/has.h"

using namespace collwatch::demo;
using namespace std::chrono_literals;

TEST_CASE("a command's output is its value") {
  const auto done = run_command({"sh", "-c", "echo out; echo err >&2"}, 10s);
  REQUIRE(done);
  CHECK(*done == "out\nerr");
}

TEST_CASE("a command that fails says which, how and why") {
  const auto done = run_command({"sh", "-c", "echo because >&2; exit 3"}, 10s);
  REQUIRE_FALSE(done);
  CHECK(has(done.error().text, "because (exit 3)"));
  const auto killed = run_command({"sh", "-c", "kill -9 $$"}, 10s);
  REQUIRE_FALSE(killed);
  CHECK(has(killed.error().text, "signal 9"));
}

TEST_CASE("a program that is not there is named") {
  const auto done = run_command({"no-such-program-here"}, 10s);
  REQUIRE_FALSE(done);
  CHECK(done.error().code == collwatch::model::ErrorCode::not_found);
  CHECK(has(done.error().text, "no-such-program-here"));
  CHECK(find_program("no-such-program-here").empty());
}

TEST_CASE("past its deadline a command is killed with its children") {
  const auto done = run_command({"sh", "-c", "sleep 600 & sleep 600"}, 200ms);
  REQUIRE_FALSE(done);
  CHECK(done.error().code == collwatch::model::ErrorCode::timeout);
}

TEST_CASE("more output than is kept does not block a command") {
  const auto done = run_command({"sh", "-c", "yes | head -c 1000000"}, 30s);
  REQUIRE(done);
  CHECK(done->size() < 100000);
}
