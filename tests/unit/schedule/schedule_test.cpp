// SPDX-License-Identifier: Apache-2.0
//
// The schedule's promises: same answer at both ends, nobody sends all large payloads at once,
// reconnects are spread. Pure functions, no clock.
#include "daemon/schedule/schedule.h"

#include <set>

#include "tests/support/catch.h"

namespace {

using namespace collwatch::schedule;

const std::vector<std::uint32_t> kPayloads = {64, 1025, 8193, 65536};

TEST_CASE("up to eight members are one clique, the same for each of them") {
  for (std::uint32_t n = 1; n <= kMaxMembers; ++n) {
    for (Member m = 0; m < n; ++m) {
      const auto members = group(Partition::local, m, 0, 17, n);
      REQUIRE(members.size() == n);
      for (Member i = 0; i < n; ++i) CHECK(members[i] == i);
      CHECK(group(Partition::permuted, m, 0, 17, n) == std::vector<Member>{m});
      CHECK(group(Partition::rotating, m, 0, 17, n) == std::vector<Member>{m});
    }
  }
}

TEST_CASE("the view hash is stable, blind to order and keen on content") {
  CHECK(view_hash({"n0", "n1"}) == "e45268901b9c57f4");
  CHECK(view_hash({"n1", "n0"}) == view_hash({"n0", "n1"}));
  CHECK(view_hash({"ab", "c"}) != view_hash({"a", "bc"}));
  CHECK(view_hash({"n0"}) != view_hash({"n0", "n0"}));
  CHECK(view_hash({}).size() == 16);
}

TEST_CASE("large payloads rotate, and both ends agree on them") {
  for (Member a = 0; a < kMaxMembers; ++a) {
    for (Member b = 0; b < a; ++b) {
      std::set<std::uint32_t> seen;
      for (Round r = -3; r < 0; ++r) {
        const auto size = large_payload({a, b}, r, kPayloads, {});
        REQUIRE(size);
        CHECK(large_payload({b, a}, r, kPayloads, {}) == size);
        seen.insert(*size);
      }
      CHECK(seen == std::set<std::uint32_t>{1025, 8193, 65536});
    }
  }
}

TEST_CASE("no node sends the largest payload to more than its share of peers in one round") {
  for (std::uint32_t n = 3; n <= kMaxMembers; ++n) {
    for (Member a = 0; a < n; ++a) {
      for (Round r = 1000; r < 1003; ++r) {
        unsigned largest = 0;
        for (Member b = 0; b < n; ++b) {
          if (b != a && large_payload({a, b}, r, kPayloads, {}) == 65536U) ++largest;
        }
        CHECK(largest <= (n + 2) / 3);
        CHECK(largest < n - 1);
      }
    }
  }
}

TEST_CASE("a size that failed is repeated, a size no longer configured is not") {
  for (Round r = 0; r < 3; ++r) {
    CHECK(large_payload({0, 1}, r, kPayloads, 8193) == 8193U);
    CHECK(large_payload({0, 1}, r, kPayloads, 4711) != 4711U);
    CHECK(large_payload({0, 1}, r, kPayloads, 64) != 64U);
  }
  CHECK_FALSE(large_payload({0, 1}, 0, {64}, {}));
  CHECK_FALSE(large_payload({0, 1}, 0, {}, {}));
  CHECK(large_payload({0, 1}, 0, {65536, 64}, {}) == 65536U);
}

TEST_CASE("reconnects come every round for a minute, then every fifth, spread over the pairs") {
  using std::chrono::milliseconds;
  CHECK(should_reconnect(milliseconds{0}, 3, {0, 1}));
  CHECK(should_reconnect(milliseconds{59999}, 4, {0, 1}));
  std::set<Round> phases;
  for (Member b = 1; b < kMaxMembers; ++b) {
    int attempts = 0;
    for (Round r = 100; r < 110; ++r) {
      const bool now = should_reconnect(milliseconds{60000}, r, {0, b});
      CHECK(should_reconnect(milliseconds{60000}, r, {b, 0}) == now);
      if (now) phases.insert(r % 5);
      attempts += now ? 1 : 0;
    }
    CHECK(attempts == 2);
  }
  CHECK(phases.size() >= 3);
}

TEST_CASE("jitter stays below its limit, differs by round and agrees at both ends") {
  std::set<Millis::rep> values;
  for (Round r = 0; r < 50; ++r) {
    const Millis delay = jitter({2, 5}, r, Millis{100});
    CHECK(delay.count() >= 0);
    CHECK(delay < Millis{100});
    CHECK(jitter({5, 2}, r, Millis{100}) == delay);
    values.insert(delay.count());
  }
  CHECK(values.size() > 25);
  CHECK(jitter({0, 1}, 7, Millis{0}) == Millis{0});
}

}  // namespace
