// SPDX-License-Identifier: Apache-2.0
//
// When memory is short, and that a process' memory is really what is looked at.
#include "daemon/agent/memory.h"

#include <unistd.h>

#include <vector>

#include "daemon/agent/ledger.h"
#include "tests/support/catch.h"

using namespace collwatch::agent;

TEST_CASE("memory is short from the limit on, and until a tenth below it") {
  MemoryGuard guard;
  CHECK_FALSE(guard.look(1000, 1000));
  CHECK_FALSE(guard.is_short());
  CHECK(guard.look(1001, 1000));
  CHECK(guard.is_short());
  CHECK_FALSE(guard.look(901, 1000));
  CHECK(guard.is_short());
  CHECK(guard.look(900, 1000));
  CHECK_FALSE(guard.is_short());
}

TEST_CASE("what a process holds is seen to grow, and of one that is gone nothing is") {
  const std::uint64_t before = resident_bytes(getpid());
  CHECK(before > 0);
  constexpr std::size_t kMore = 64 << 20;
  const std::vector<char> held(kMore, 'x');
  CHECK(resident_bytes(getpid()) >= before + kMore / 2);
  CHECK(held.back() == 'x');
  CHECK(resident_bytes(0x7ffffffe) == 0);
}

TEST_CASE("while memory is short few events are kept") {
  Ledger ledger("n0");
  for (int i = 0; i < 300; ++i) ledger.note("config", "reloaded", std::to_string(i));
  CHECK(ledger.recent_events().size() == 256);
  ledger.keep_few_events(true);
  REQUIRE(ledger.recent_events().size() == 16);
  CHECK(ledger.recent_events().back().text == "299");
  ledger.note("config", "reloaded", "next");
  CHECK(ledger.recent_events().size() == 16);
  ledger.keep_few_events(false);
  ledger.note("config", "reloaded", "more");
  CHECK(ledger.recent_events().size() == 17);
}
