// SPDX-License-Identifier: Apache-2.0
//
// Exit facts as the words that people read in the log.
#include "daemon/supervise/exit_fact.h"

#include <csignal>

#include "tests/support/catch.h"

using namespace collwatch::supervise;

TEST_CASE("every way to end has its words") {
  CHECK(describe(Exited{3}) == "exited with code 3");
  CHECK(describe(Signalled{SIGSEGV, false}) == "died of SIGSEGV");
  CHECK(describe(Signalled{SIGABRT, true}) == "died of SIGABRT, core dumped");
  CHECK(describe(KilledByUs{SIGTERM}) == "killed by us with SIGTERM");
  CHECK(describe(KilledByUs{SIGKILL}) == "killed by us with SIGKILL");
  // Real-time signals have no abbreviation.
  CHECK(describe(Signalled{SIGRTMIN + 1, false}) ==
        "died of signal " + std::to_string(SIGRTMIN + 1));
}
