// SPDX-License-Identifier: Apache-2.0
//
// Who shares a folder with us, from looks alone.
#include "daemon/agent/folder_sharing.h"

#include <set>
#include <string>
#include <vector>

#include "tests/support/catch.h"

using namespace collwatch;
using agent::FolderSharing;
using Catch::Matchers::ContainsSubstring;
using Names = std::vector<std::string>;

namespace {

/// Looks of one member at others whose files move or stand still.
struct Looker {
  FolderSharing sharing;
  std::set<std::string> alive;
  std::int64_t number = 100;

  void look(const Names& moving, const Names& still = {}, bool is_early = false) {
    ++number;
    std::vector<wire::StoreMember> files;
    for (const std::string& name : moving) files.push_back({1, name, number});
    for (const std::string& name : still) files.push_back({1, name, 7});
    sharing.add({1, "nfs", ""}, files, alive, is_early);
  }
  void look_often(int times, const Names& moving, const Names& still = {}, bool is_early = false) {
    for (int i = 0; i < times; ++i) look(moving, still, is_early);
  }
};

}  // namespace

TEST_CASE("nobody is odd where all files move, be they seen at every second look only") {
  Looker a{FolderSharing("a"), {"b", "c"}};
  a.look_often(4, {"b"}, {"c"}, true);  // c looks seldom and has just begun to
  for (int i = 0; i < 20; ++i) {
    a.look({"b", "c"});
    a.sharing.add({1, "nfs", ""}, {{1, "b", a.number}, {1, "c", a.number}}, a.alive, false);
    REQUIRE(a.sharing.odd().empty());
  }
  CHECK(a.sharing.text().empty());
}

TEST_CASE("who answers and has no file at all is named at the third look") {
  Looker a{FolderSharing("a"), {"b", "c"}};
  a.look_often(2, {"b"}, {}, true);
  CHECK(a.sharing.odd().empty());
  a.look({"b"}, {}, true);
  CHECK(a.sharing.odd() == Names{"c"});
  CHECK_THAT(a.sharing.text(), ContainsSubstring("on nfs") && ContainsSubstring("file of c"));
  a.look({"b", "c"}, {}, true);
  CHECK(a.sharing.odd().empty());
}

TEST_CASE("a file that an earlier run left does not count, but only full looks prove it still") {
  Looker a{FolderSharing("a"), {"b", "c"}};
  a.look_often(10, {"b"}, {"c"}, true);
  CHECK(a.sharing.odd().empty());
  a.look_often(3, {"b"}, {"c"});
  CHECK(a.sharing.odd().empty());
  a.look({"b"}, {"c"});
  CHECK(a.sharing.odd() == Names{"c"});
}

TEST_CASE("who sees nobody of many is odd itself; of equal sides the one without the lowest name") {
  Looker c{FolderSharing("c"), {"a", "b"}};
  c.look_often(3, {});
  CHECK(c.sharing.odd() == Names{"c"});
  Looker a{FolderSharing("a"), {"b"}};
  a.look_often(3, {});
  CHECK(a.sharing.odd() == Names{"b"});
  Looker b{FolderSharing("b"), {"a"}};
  b.look_often(3, {});
  CHECK(b.sharing.odd() == Names{"b"});
}

TEST_CASE("who does not answer on the network is not accused, and starts anew when it does") {
  Looker a{FolderSharing("a"), {"b"}};
  a.look_often(10, {"b"});
  a.alive = {};
  a.look_often(10, {});
  CHECK(a.sharing.odd().empty());
  a.alive = {"b"};
  a.look_often(2, {});
  CHECK(a.sharing.odd().empty());
}

TEST_CASE("a folder that fails twice is this node's trouble, one that works again is not") {
  Looker a{FolderSharing("a"), {"b"}};
  a.look_often(4, {"b"});
  a.sharing.add_hung();
  CHECK(a.sharing.odd().empty());
  a.sharing.add({1, "nfs", "flock, which a FileStore needs: No locks available"}, {}, a.alive,
                false);
  CHECK(a.sharing.odd() == Names{"a"});
  CHECK_THAT(a.sharing.text(), ContainsSubstring("No locks available"));
  a.look({"b"});
  CHECK(a.sharing.odd().empty());
  a.sharing.add_hung();
  CHECK(a.sharing.odd().empty());
}
