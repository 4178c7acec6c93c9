// SPDX-License-Identifier: Apache-2.0
//
// From what members brought to a meeting to what each of them runs.
#include "daemon/agent/nccl_ladder.h"

#include "tests/support/catch.h"

using namespace collwatch;
using namespace collwatch::agent;
using wire::Rung;

namespace {

NcclMember member(const std::string& name, int devices, const std::string& nccl = "2.28.9",
                  const std::string& driver = "13.0") {
  NcclMember made;
  made.name = name;
  made.facts.nccl = nccl;
  made.facts.cuda = "12.9";
  made.facts.driver = driver;
  made.facts.devices = devices;
  made.facts.ids = {wire::Blob{name[0], '1'}, wire::Blob{name[0], '2'}};
  return made;
}

}  // namespace

TEST_CASE("all members make the same plan, each with ranks of its own") {
  const std::vector<NcclMember> members = {member("a", 2), member("b", 4), member("c", 2)};
  const int first[] = {0, 2, 6};
  for (std::size_t own = 0; own < members.size(); ++own) {
    const NcclLadder ladder = nccl_ladder(members, own, 5);
    CHECK(ladder.odd.empty());
    REQUIRE(ladder.runs.size() == 2);
    CHECK(ladder.runs[0].rung == Rung::rail);
    CHECK(ladder.runs[0].device == 1);  // the fifth turn, of two that everybody has
    CHECK(ladder.runs[0].first_rank == static_cast<int>(own));
    CHECK(ladder.runs[0].ranks == 3);
    CHECK(ladder.runs[0].id == wire::Blob{'a', '1'});
    CHECK(ladder.runs[1].rung == Rung::all);
    CHECK(ladder.runs[1].first_rank == first[own]);
    CHECK(ladder.runs[1].ranks == 8);
    CHECK(ladder.runs[1].id == wire::Blob{'a', '2'});
  }
}

TEST_CASE("with one GPU a node the rail is all of them") {
  const NcclLadder ladder = nccl_ladder({member("a", 1), member("b", 1)}, 1, 7);
  REQUIRE(ladder.runs.size() == 1);
  CHECK(ladder.runs[0].rung == Rung::rail);
  CHECK(ladder.runs[0].device == 0);
}

TEST_CASE("another NCCL is named with both versions and keeps everybody from running") {
  const NcclLadder ladder =
      nccl_ladder({member("a", 1), member("b", 1, "2.27.7"), member("c", 1)}, 1, 0);
  CHECK(ladder.is_mixed);
  CHECK(ladder.runs.empty());
  REQUIRE(ladder.odd.size() == 1);
  CHECK(ladder.odd[0].first == "b");
  CHECK(ladder.odd[0].second == "b has NCCL 2.27.7 where the others have 2.28.9");
}

TEST_CASE("another driver is named, too, but is no reason not to run") {
  const NcclLadder ladder =
      nccl_ladder({member("a", 1), member("b", 1), member("c", 1, "2.28.9", "12.4")}, 0, 0);
  CHECK(!ladder.is_mixed);
  CHECK(ladder.runs.size() == 1);
  REQUIRE(ladder.odd.size() == 1);
  CHECK(ladder.odd[0].second == "c has a driver for CUDA 12.4 where the others have 13.0");
}

TEST_CASE("facts that cannot be used make no plan") {
  NcclMember without = member("a", 1);
  without.facts.ids.clear();
  CHECK(nccl_ladder({without, member("b", 1)}, 0, 0).runs.empty());
  CHECK(nccl_ladder({member("a", 0), member("b", 1)}, 0, 0).runs.empty());
  CHECK(nccl_ladder({member("a", 1)}, 0, 0).runs.empty());
}
