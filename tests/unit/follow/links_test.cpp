// SPDX-License-Identifier: Apache-2.0
//
// Symbolic links in folders that users write to: followed only where following gives away nothing
// that the link's maker could not have written.
#include <sys/stat.h>
#include <unistd.h>

#include "daemon/follow/open_log.h"
#include "tests/unit/follow/follow_bench.h"

using namespace collwatch;
using follow::open_log;
using test::FollowBench;

namespace {

constexpr uid_t kUser = 54321;
constexpr uid_t kOther = 54322;

struct Linked : FollowBench {
  void link(const std::string& to, const std::string& name, uid_t owner) const {
    REQUIRE(symlink(to.c_str(), path(name).c_str()) == 0);
    REQUIRE(lchown(path(name).c_str(), owner, owner) == 0);
  }
  void file(const std::string& name, uid_t owner) const {
    append(name, "secret\n");
    REQUIRE(chown(path(name).c_str(), owner, owner) == 0);
  }
  void folder_in(const std::string& name, uid_t owner) const {
    REQUIRE(mkdir(path(name).c_str(), 0755) == 0);
    REQUIRE(chown(path(name).c_str(), owner, owner) == 0);
  }
};

bool may_give_away() {
  if (geteuid() == 0) return true;
  WARN("SKIPPED: only root can make links in another user's name");
  return false;
}

}  // namespace

TEST_CASE("a user's link to what is not his is refused, and the refusal tells the link alone") {
  if (!may_give_away()) return;
  Linked bench;
  const uid_t owner = GENERATE(uid_t{0}, kOther);
  bench.file("hidden", owner);
  bench.link(bench.path("hidden"), "a.log", kUser);
  const auto opened = open_log(bench.path("a.log"));
  REQUIRE_FALSE(opened);
  CHECK(opened.error().code == model::ErrorCode::permission);
  CHECK(opened.error().text.find(bench.path("a.log") + ": not followed") == 0);
  CHECK(opened.error().text.find("hidden") == std::string::npos);

  bench.watch(bench.path("*.log"));
  bench.look();
  bench.append("hidden", "more secrets\n");
  bench.look();
  CHECK(bench.take().empty());
  CHECK(bench.context.empty());
  REQUIRE(bench.follower->troubles().size() == 1);
  CHECK(bench.follower->troubles()[0].find("not followed") != std::string::npos);
}

TEST_CASE("a link of root or of the file's owner is followed") {
  if (!may_give_away()) return;
  Linked bench;
  bench.file("mine", kUser);
  bench.link("mine", "own.log", kUser);
  bench.link(bench.path("mine"), "root.log", 0);
  CHECK(open_log(bench.path("own.log")));
  CHECK(open_log(bench.path("root.log")));
}

TEST_CASE("every link on the way counts: a folder's, a chain's, one that climbs") {
  if (!may_give_away()) return;
  Linked bench;
  bench.folder_in("private", 0);
  bench.file("private/x.log", 0);
  bench.folder_in("job", kUser);
  bench.link(bench.path("private"), "job/logs", kUser);
  bench.link("../private", "job/climbs", kUser);
  bench.link("job/logs/x.log", "chain.log", 0);
  for (const char* name : {"job/logs/x.log", "job/climbs/x.log", "chain.log"}) {
    const auto opened = open_log(bench.path(name));
    INFO(name);
    REQUIRE_FALSE(opened);
    CHECK(opened.error().code == model::ErrorCode::permission);
  }
  bench.link("private", "linked", 0);
  CHECK(open_log(bench.path("linked/x.log")));
  CHECK(open_log(bench.path("./job/../linked//x.log")));
}

TEST_CASE("loops, dangling links, folders and pipes are errors and never hang") {
  Linked bench;
  REQUIRE(symlink("b.log", bench.path("a.log").c_str()) == 0);
  REQUIRE(symlink("a.log", bench.path("b.log").c_str()) == 0);
  REQUIRE(symlink("nowhere", bench.path("c.log").c_str()) == 0);
  REQUIRE(mkfifo(bench.path("pipe.log").c_str(), 0600) == 0);
  for (const char* name : {"a.log", "c.log", "missing.log", "pipe.log", "."}) {
    INFO(name);
    CHECK_FALSE(open_log(bench.path(name)));
  }
  CHECK_FALSE(open_log(""));
  CHECK_FALSE(open_log("/"));
}
