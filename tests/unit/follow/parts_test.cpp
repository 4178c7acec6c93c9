// SPDX-License-Identifier: Apache-2.0
//
// The follower's parts, each alone: lines, budget, mounts, patterns, inotify.
#include <chrono>
#include <csignal>
#include <cstdio>

#include "daemon/follow/byte_budget.h"
#include "daemon/follow/changes.h"
#include "daemon/follow/glob.h"
#include "daemon/follow/line_cutter.h"
#include "daemon/follow/mounts.h"
#include "daemon/follow/open_files.h"
#include "tests/unit/follow/follow_bench.h"

using namespace collwatch;
using namespace collwatch::follow;

namespace {

/// Pieces in brackets; those that do not end a line with a plus behind.
std::string cut(LineCutter& cutter, const std::string& bytes, bool flush = false) {
  std::string said;
  const LineCutter::Take take = [&](std::string_view text, bool ends_line) {
    said += "[" + std::string(text) + "]" + (ends_line ? "" : "+");
  };
  if (flush) {
    cutter.flush(take);
  } else {
    cutter.add(bytes, take);
  }
  return said;
}

}  // namespace

TEST_CASE("lines are handed on whole, progress bars state by state") {
  LineCutter cutter;
  CHECK(cut(cutter, "a\nb\nc") == "[a\nb\n]");
  CHECK(cut(cutter, "d") == "");
  CHECK(cut(cutter, "\n") == "[cd\n]");
  CHECK(cut(cutter, "10%\r20%") == "[10%\r]+");
  CHECK(cut(cutter, "\r30%\r") == "[20%\r]+");
  CHECK(cut(cutter, "\nx\r") == "[30%\r\n]");
  CHECK(cut(cutter, "\ny") == "[x\r\n]");
  CHECK(cut(cutter, "", true) == "[y]+");
  CHECK(cut(cutter, "", true) == "");
}

TEST_CASE("a line of megabytes comes in pieces and is never held whole") {
  LineCutter cutter;
  std::size_t total = 0;
  std::size_t most = 0;
  for (int i = 0; i < 100; ++i) {
    cutter.add(std::string(30000, 'x'), [&](std::string_view text, bool ends_line) {
      CHECK_FALSE(ends_line);
      total += text.size();
    });
    most = std::max(most, cutter.held());
  }
  CHECK(most < LineCutter::kMostHeld);
  CHECK(total + cutter.held() == 3000000);
}

TEST_CASE("a budget holds one second's worth and fills with time, however slowly") {
  using namespace std::chrono_literals;
  ByteBudget budget(1000);
  base::TimePoint now{1h};
  CHECK(budget.left(now) == 1000);
  budget.spend(1000);
  CHECK(budget.left(now) == 0);
  CHECK(budget.left(now + 100ms) == 100);
  CHECK(budget.left(now + 10min) == 1000);
  ByteBudget slow(100);
  now += 1h;
  slow.left(now);
  slow.spend(100);
  for (int i = 0; i < 1000; ++i) slow.left(now += 1ms);
  CHECK(slow.left(now) >= 95);
}

TEST_CASE("the list of mounts tells which paths are shared") {
  const Mounts mounts(
      "22 1 8:1 / / rw - ext4 /dev/sda1 rw\n"
      "40 22 0:40 / /home rw,relatime shared:1 - nfs4 server:/home rw\n"
      "41 40 8:2 / /home/local rw - xfs /dev/sdb rw\n"
      "42 22 0:42 / /mnt/my\\040data rw - fuse.sshfs x rw\n"
      "43 22 0:43 / /scratch rw - lustre x rw\n"
      "44 22 0:44 / /scratch rw - tmpfs x rw\n"
      "45 22 8:3 / /usb rw - fuseblk /dev/sdc rw\n"
      "nonsense\n");
  CHECK(mounts.type_of("/var/log") == "ext4");
  CHECK_FALSE(mounts.is_shared("/var/log/x.log"));
  CHECK(mounts.is_shared("/home"));
  CHECK(mounts.is_shared("/home/me/slurm-1.out"));
  CHECK_FALSE(mounts.is_shared("/homework"));
  CHECK_FALSE(mounts.is_shared("/home/local/x"));
  CHECK(mounts.is_shared("/mnt/my data/x"));
  CHECK_FALSE(mounts.is_shared("/scratch/x"));  // the later mount is on top
  CHECK_FALSE(mounts.is_shared("/usb/x"));      // a local disk behind FUSE
  CHECK(Mounts("").type_of("/").empty());
  CHECK_FALSE(Mounts::now().type_of("/").empty());
}

TEST_CASE("a pattern's host, its fixed folder, its files") {
  CHECK(with_host("/l/%h/x%%h-%h.log", "n1") == "/l/n1/x%h-n1.log");
  CHECK(names_host("/l/%h/x"));
  CHECK_FALSE(names_host("/l/%%h/x"));
  CHECK(fixed_folder("/var/log/*/a.log") == "/var/log");
  CHECK(fixed_folder("/var/log/a*.log") == "/var/log");
  CHECK(fixed_folder("/var/log/a.log") == "/var/log");
  CHECK(fixed_folder("/*.log") == "/");
  const test::FollowBench bench;
  for (const char* name : {"1.out", "2.out", "3.err"}) bench.append(name, "");
  CHECK(matching(bench.path("*.{out,err}"), 10).paths.size() == 3);
  CHECK(matching(bench.path("*.out"), 1).paths.size() == 1);
  CHECK(matching(bench.path("nothing*"), 10).paths.empty());
  CHECK_FALSE(matching(bench.path("*.out"), 1).is_cut);
}

TEST_CASE("a pattern that leads through half a file system is given up, and the next one is not") {
  const test::FollowBench bench;
  bench.append("1.out", "");
  std::string wide = bench.path("1");
  for (int i = 0; i < 14; ++i) wide += "{.,-}";  // 16384 names, each looked for in the folder
  const Matches given_up = matching(wide + "*", 10);
  CHECK(given_up.is_cut);
  CHECK_FALSE(matching(bench.path("*.out"), 10).is_cut);
}

TEST_CASE("inotify tells a write from a move, and forgets a folder that is no longer asked for") {
  const test::FollowBench bench;
  Changes changes;
  if (changes.fd() < 0) {
    WARN("SKIPPED: no inotify here");
    return;
  }
  changes.watch({bench.folder, "/no/such/folder"});
  CHECK_FALSE(changes.take().written);
  bench.append("a.log", "x");
  const auto made = changes.take();
  CHECK(made.moved);
  bench.append("a.log", "y");
  const auto grown = changes.take();
  CHECK(grown.written);
  CHECK_FALSE(grown.moved);
  changes.watch({});
  bench.append("b.log", "x");
  CHECK_FALSE(changes.take().moved);
}

TEST_CASE("an open file of another process is seen") {
  // The test's own are left out: the follower holds everything open that it reads.
  const test::FollowBench bench;
  bench.append("a.log", "x");
  const std::string command = "tail -f " + bench.path("a.log") + " >/dev/null 2>&1 & echo $!";
  FILE* const started = popen(command.c_str(), "r");
  int pid = 0;
  REQUIRE(fscanf(started, "%d", &pid) == 1);
  pclose(started);
  const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(20);
  bool is_seen = false;
  while (!is_seen && std::chrono::steady_clock::now() < deadline) {
    is_seen = files_open_here().contains(bench.path("a.log"));
  }
  kill(pid, SIGKILL);
  CHECK(is_seen);
}
