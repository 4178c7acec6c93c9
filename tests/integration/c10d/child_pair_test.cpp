// SPDX-License-Identifier: Apache-2.0
//
// Children that abort, crash, hang, leave: each is told for what it is, and nobody is left behind.
#include "probes/c10d/child_pair.h"

#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <stdexcept>
#include <string>

#include "tests/support/catch.h"

using namespace collwatch;
using namespace collwatch::c10d_probe;
using Catch::Matchers::ContainsSubstring;
using std::chrono::milliseconds;
using wire::C10dEnd;

namespace {

constexpr milliseconds kLong{20000};

bool nobody_is_left() {
  return ::waitpid(-1, nullptr, WNOHANG) < 0 && errno == ECHILD;
}

Ending pair(const RankBody& body, milliseconds deadline = kLong) {
  const Ending ending = run_pair(body, deadline);
  CHECK(nobody_is_left());
  return ending;
}

// Of a sanitizer's runtime a signal would be an error report and an exit code.
void die_of(int signal) {
  std::signal(signal, SIG_DFL);
  std::raise(signal);
}

}  // namespace

TEST_CASE("two that end well have ended well, and could talk to each other") {
  const Ending ending = pair([](int rank, const Between& between) -> Ending {
    if (rank == 0) between.tell("4711");
    if (rank == 1 && between.hear() != "4711") return {C10dEnd::refused, "heard another word"};
    return {C10dEnd::accepted, ""};
  });
  CHECK(ending.end == C10dEnd::accepted);
}

TEST_CASE("a child that crashes is told with its signal") {
  const Ending ending = pair([](int rank, const Between&) -> Ending {
    if (rank == 1) die_of(SIGSEGV);
    return {};
  });
  CHECK(ending.end == C10dEnd::crash);
  CHECK(ending.text == "SIGSEGV");
}

TEST_CASE("a child that aborts is told with its last words") {
  const Ending ending = pair([](int rank, const Between&) -> Ending {
    if (rank == 0) return {};
    std::fputs("INFO connected\nterminate called\n  what():  24 vs 12\n", stderr);
    die_of(SIGABRT);
    return {};
  });
  CHECK(ending.end == C10dEnd::crash);
  CHECK(ending.text == "SIGABRT: what():  24 vs 12");
}

TEST_CASE("of a crash the signal counts, not the backtrace that somebody printed") {
  const Ending ending = pair([](int rank, const Between&) -> Ending {
    if (rank == 0) return {};
    std::fputs("1  /lib/libx.so(+0xe1224) [0x7f6de92e1224]\n", stderr);
    die_of(SIGSEGV);
    return {};
  });
  CHECK(ending.text == "SIGSEGV");
}

TEST_CASE("a child that leaves without a word has crashed") {
  const Ending ending = pair([](int rank, const Between&) -> Ending {
    if (rank == 1) ::_exit(3);
    return {};
  });
  CHECK(ending.end == C10dEnd::crash);
  CHECK(ending.text == "exit 3");
}

TEST_CASE("a child that hangs is told at the deadline") {
  const Ending ending = pair(
      [](int rank, const Between&) -> Ending {
        if (rank == 1) {
          for (;;) ::pause();
        }
        return {};
      },
      milliseconds(500));
  CHECK(ending.end == C10dEnd::hang);
  CHECK_THAT(ending.text, ContainsSubstring("500 ms"));
}

TEST_CASE("who refused speaks for the pair, and not who lost its peer before") {
  const Ending ending = pair([](int rank, const Between& between) -> Ending {
    if (rank == 1) {
      between.tell("done");
      return {C10dEnd::refused, "Connection closed by peer [127.0.0.1]:N"};
    }
    between.hear();
    return {C10dEnd::refused, "Invalid scalar type"};
  });
  CHECK(ending.end == C10dEnd::refused);
  CHECK(ending.text == "Invalid scalar type");
}

TEST_CASE("who refused speaks at once, its peer's waiting is not waited for") {
  const Ending ending = pair([](int rank, const Between&) -> Ending {
    if (rank == 1) {
      for (;;) ::pause();
    }
    return {C10dEnd::refused, "unsupported"};
  });
  CHECK(ending.end == C10dEnd::refused);
  CHECK(ending.text == "unsupported");
}

TEST_CASE("of two ranks with wrong values rank 0 is told, whoever was first") {
  for (const int first : {0, 1}) {
    const Ending ending = pair([first](int rank, const Between& between) -> Ending {
      if (rank == first) {
        between.tell("go");
      } else {
        between.hear();
      }
      return {C10dEnd::wrong_values, "rank " + std::to_string(rank)};
    });
    CHECK(ending.end == C10dEnd::wrong_values);
    CHECK(ending.text == "rank 0");
  }
}

TEST_CASE("a child alone has the same ends") {
  CHECK(run_alone([] { return Ending{}; }, kLong).end == C10dEnd::ok);
  CHECK(run_alone([] { return Ending{C10dEnd::unavailable, "x"}; }, kLong).text == "x");
  CHECK(run_alone(
            [] {
              die_of(SIGKILL);
              return Ending{};
            },
            kLong)
            .text == "SIGKILL");
  CHECK(nobody_is_left());
}
