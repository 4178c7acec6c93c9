// SPDX-License-Identifier: Apache-2.0
//
// Who is named for wrong values in the group's collectives, and who is not.
#include "daemon/agent/accusations.h"

#include "tests/support/catch.h"

namespace {

using collwatch::agent::Accusations;
using Words = std::vector<std::uint32_t>;

const std::vector<std::string> kMembers{"a", "b", "c", "d"};
const Accusations::TimePoint kStart{};

std::string named(const Accusations& accusations, std::chrono::seconds after) {
  std::string all;
  for (const auto& one : accusations.named(kStart + after)) {
    all += one.member + (one.again ? "! " : " ");
  }
  return all;
}

TEST_CASE("two who got wrong values from a member name it, and for certain when they did again") {
  Accusations accusations(std::chrono::seconds(60));
  accusations.add(kStart, kMembers, Words{0b100, 0b100, 0, 0b100});
  CHECK(named(accusations, std::chrono::seconds(0)) == "c ");
  accusations.add(kStart + std::chrono::seconds(10), kMembers, Words{0b100, 0, 0, 0b100});
  CHECK(named(accusations, std::chrono::seconds(10)) == "c! ");
  CHECK(named(accusations, std::chrono::seconds(70)) == "c! ");
  CHECK(named(accusations, std::chrono::seconds(71)).empty());
}

TEST_CASE("one accuser convicts nobody, however often it accuses and whomever") {
  Accusations accusations(std::chrono::seconds(60));
  for (int run = 0; run < 9; ++run) {
    accusations.add(kStart + std::chrono::seconds(run), kMembers, Words{0b1110, 0, 0, 0});
  }
  CHECK(named(accusations, std::chrono::seconds(9)).empty());
}

TEST_CASE("a member's word against itself counts for nothing") {
  Accusations accusations(std::chrono::seconds(60));
  accusations.add(kStart, kMembers, Words{0b100, 0, 0b100, 0});
  CHECK(named(accusations, std::chrono::seconds(0)).empty());
}

TEST_CASE("accusers of different runs add up, as where one run damages one block only") {
  Accusations accusations(std::chrono::seconds(60));
  accusations.add(kStart, kMembers, Words{0b100, 0, 0, 0});
  accusations.add(kStart + std::chrono::seconds(20), kMembers, Words{0, 0b100, 0, 0});
  CHECK(named(accusations, std::chrono::seconds(20)) == "c ");
}

TEST_CASE("words that do not fit the members are left out") {
  Accusations accusations(std::chrono::seconds(60));
  accusations.add(kStart, {"a", "b"}, Words{0xfffffffc, 0xfffffffc, 0xffffffff, 0xffffffff});
  accusations.add(kStart, {}, Words{1, 1});
  CHECK(named(accusations, std::chrono::seconds(0)).empty());
}

}  // namespace
