// SPDX-License-Identifier: Apache-2.0
//
// Where reading begins, and that nothing is read twice or lost, whatever is done to the files.
#include "daemon/follow/follower.h"

#include "tests/unit/follow/follow_bench.h"

using namespace collwatch;
using test::FollowBench;

TEST_CASE("what was there before the watch is context, what comes is read") {
  FollowBench bench;
  bench.append("a.log", "one\ntwo\n");
  bench.watch(bench.path("*.log"));
  bench.look();
  CHECK(bench.take().empty());
  CHECK(bench.context == "one\ntwo\n");
  bench.append("a.log", "three\nfour\n");
  bench.look();
  CHECK(bench.take() == "three\nfour\n");
  CHECK(bench.first_lines.back() == 3);
  bench.look();
  CHECK(bench.take().empty());
}

TEST_CASE("a file that appears later is read from its first byte") {
  FollowBench bench;
  bench.watch(bench.path("*.log"));
  bench.look();
  bench.append("b.log", "first\n");
  bench.look();
  CHECK(bench.take() == "first\n");
  CHECK(bench.first_lines.back() == 1);
}

TEST_CASE("a file that is younger than the watch is read whole even at the first look") {
  FollowBench bench;
  bench.since_ms = 0;
  bench.append("a.log", "one\n");
  bench.watch(bench.path("*.log"));
  bench.look();
  if (bench.take().empty()) {
    WARN("SKIPPED: this file system does not keep when a file was made");
    return;
  }
  CHECK(bench.context.empty());
}

TEST_CASE("rotation by renaming: the rest of the old file, then the new one, each once") {
  FollowBench bench;
  bench.append("a.log", "old\n");
  bench.watch(bench.path("a.log"));
  bench.look();
  bench.append("a.log", "last words\n");
  bench.rename("a.log", "a.log.1");
  bench.append("a.log", "new\n");
  bench.look();
  bench.append("a.log.1", "a writer that has not noticed\n");
  bench.look();
  const std::string text = bench.take();
  CHECK(text.find("last words\n") != std::string::npos);
  CHECK(text.find("new\n") != std::string::npos);
  CHECK(text.find("a writer that has not noticed\n") != std::string::npos);
  CHECK(text.size() == std::string("last words\nnew\na writer that has not noticed\n").size());
  // Long after, the old one is let go.
  bench.look(base::Millis(20000));
  CHECK(bench.forgotten == 1);
  CHECK(bench.follower->files() == 1);
}

TEST_CASE("a renamed file that still matches is the same file") {
  FollowBench bench;
  bench.append("a.log", "old\n");
  bench.watch(bench.path("a.log*"));
  bench.look();
  bench.rename("a.log", "a.log.1");
  bench.append("a.log", "new\n");
  bench.look();
  bench.look();
  CHECK(bench.take() == "new\n");
  CHECK(bench.follower->files() == 2);
}

TEST_CASE("a file that is emptied begins anew, even when it has grown past the old end") {
  const std::string again = GENERATE("short\n", "longer than what was in the file before\n");
  FollowBench bench;
  bench.append("a.log", "what was before\n");
  bench.watch(bench.path("*.log"));
  bench.look();
  test::fs::resize_file(bench.path("a.log"), 0);
  bench.append("a.log", again);
  bench.look();
  CHECK(bench.take() == again);
  CHECK(bench.first_lines.back() == 1);
  CHECK(bench.broken == 1);
}

TEST_CASE("half a line waits for its rest, but not for ever") {
  FollowBench bench;
  bench.append("a.log", "");
  bench.watch(bench.path("*.log"));
  bench.look();
  bench.append("a.log", "Connection clo");
  bench.look(base::Millis(100));
  CHECK(bench.take().empty());
  bench.append("a.log", "sed by peer\nnext");
  bench.look(base::Millis(100));
  CHECK(bench.take() == "Connection closed by peer\n");
  bench.look(base::Millis(3000));
  CHECK(bench.take() == "next");
}

TEST_CASE("the unfinished last line of an older file is read with its rest") {
  FollowBench bench;
  bench.append("a.log", "one\nConnection clo");
  bench.watch(bench.path("*.log"));
  bench.look();
  bench.append("a.log", "sed by peer\n");
  bench.look();
  CHECK(bench.take() == "Connection closed by peer\n");
  CHECK(bench.first_lines.back() == 2);
}

TEST_CASE("no more is read than the budget allows; what waits is counted") {
  FollowBench bench;
  bench.append("a.log", "");
  bench.watch(bench.path("*.log"), 10000);
  bench.look();
  std::string lines;
  for (int i = 0; i < 2500; ++i) lines += "123456789\n";
  bench.append("a.log", lines);
  bench.look(base::Millis(1000));
  CHECK(bench.read.size() == 10000);
  CHECK(bench.follower->stats().lag == 15000);
  bench.look(base::Millis(1000));
  CHECK(bench.read.size() == 20000);
  bench.look(base::Millis(1000));
  CHECK(bench.take() == lines);
  CHECK(bench.follower->stats().lag == 0);
  CHECK(bench.follower->stats().bytes == 25000);
  CHECK(bench.follower->stats().skipped == 0);
}

TEST_CASE(
    "what comes much faster than it may be read is passed over, counted, up to a line's end") {
  FollowBench bench;
  bench.append("a.log", "");
  bench.watch(bench.path("*.log"), 1000);
  bench.look();
  std::string lines;
  for (int i = 0; i < 10000; ++i) lines += "123456789\n";
  bench.append("a.log", lines);
  bench.look(base::Millis(1000));
  CHECK(bench.follower->stats().skipped == 95000);
  CHECK(bench.broken == 1);
  CHECK(bench.read.find("123456789\n") == 0);
  CHECK(bench.first_lines.back() == 0);
}

TEST_CASE("all logs together have a budget too, and each file gets its share of it") {
  FollowBench bench;
  bench.plan.bytes_per_second = 1 << 20;
  bench.follower->set_globs({{bench.path("*.a"), 20000000, bench.since_ms},
                             {bench.path("*.b"), 20000000, bench.since_ms}},
                            bench.plan);
  const std::vector<std::string> names = {"0.a", "1.a", "2.a", "3.b"};
  for (const auto& name : names) bench.append(name, "");
  bench.look();
  const std::string storm(3 << 20, '\n');
  for (const auto& name : names) bench.append(name, storm);
  for (int second = 0; second < 4; ++second) bench.look(base::Millis(1000));
  bench.look(base::Millis(1000));  // positions are told once a second
  CHECK(bench.read.size() == 5 << 20);
  CHECK(bench.follower->stats().lag == (4 * 3 - 5) << 20);
  CHECK(bench.follower->is_behind());
  for (const auto& [file, position] : bench.positions) {
    INFO(position.path);
    CHECK(position.offset >= 1 << 20);
    CHECK(position.offset <= (1 << 20) + (1 << 19));
  }
}

TEST_CASE("a storm in many files is given up file by file, each but for its end") {
  FollowBench bench;
  bench.plan.bytes_per_second = 4000;
  bench.watch(bench.path("*.log"), 1000000);
  std::string lines;
  for (int i = 0; i < 10000; ++i) lines += "123456789\n";
  for (const char* name : {"a.log", "b.log", "c.log", "d.log"}) bench.append(name, "");
  bench.look();
  for (const char* name : {"a.log", "b.log", "c.log", "d.log"}) bench.append(name, lines);
  bench.look(base::Millis(1000));  // so many are behind
  bench.look(base::Millis(1000));
  // A quarter of the budget each: what is more than thirty seconds' worth goes, five are kept.
  CHECK(bench.follower->stats().skipped >= 4 * 94000);
  CHECK(bench.follower->stats().lag <= 4 * 5000);
}

TEST_CASE("the next watcher goes on where the last one was, and repeats nothing") {
  FollowBench bench;
  bench.append("a.log", "old\n");
  bench.watch(bench.path("*.log"));
  bench.look();
  bench.append("a.log", "read\nhalf");
  bench.look(base::Millis(100));
  bench.look(base::Millis(1500));  // positions are told once a second
  CHECK(bench.take() == "read\n");
  bench.restart();
  bench.append("a.log", " a line\nmissed\n");
  bench.append("new.log", "new\n");
  bench.since_ms = 0;  // as the daemon gives it: when it first watched
  bench.watch(bench.path("*.log"));
  bench.look();
  const std::string text = bench.take();
  CHECK(text.find("half a line\nmissed\n") != std::string::npos);
  CHECK(text.find("read\n") == std::string::npos);
  CHECK(bench.first_lines.size() >= 2);
  CHECK(bench.context.find("missed") == std::string::npos);
}

TEST_CASE("another file with the inode of a remembered one is not taken for it") {
  FollowBench bench;
  bench.append("a.log", "the first file's long first line\n");
  bench.watch(bench.path("*.log"));
  bench.look();
  bench.restart();
  // The same inode, as after deletion and reuse: emptied and written anew while nobody looked.
  test::fs::resize_file(bench.path("a.log"), 0);
  bench.append("a.log", "quite another file, and longer than the one before it\n");
  bench.watch(bench.path("*.log"));
  bench.look();
  CHECK(bench.take() == "quite another file, and longer than the one before it\n");
}

TEST_CASE("%h is this host, and archives are left alone") {
  FollowBench bench;
  bench.watch(bench.folder + "/%h-*");
  bench.look();
  bench.append("node-a-1.log", "mine\n");
  bench.append("node-b-1.log", "another's\n");
  bench.append("node-a-0.log.gz", "packed\n");
  bench.look();
  CHECK(bench.take() == "mine\n");
}

TEST_CASE("of a shared file system only what this host writes, or what %h names, is read") {
  FollowBench bench;
  bench.is_shared = true;
  bench.watch(bench.path("*.log"));
  bench.look();
  bench.append("mine.log", "mine\n");
  bench.append("theirs.log", "theirs\n");
  bench.open_here = {bench.path("mine.log")};
  bench.look(base::Millis(11000));
  CHECK(bench.take() == "mine\n");
  bench.watch(bench.folder + "/%h*.log");
  bench.look(base::Millis(11000));
  bench.append("node-a.log", "named\n");
  bench.look(base::Millis(11000));
  CHECK(bench.take() == "named\n");
  CHECK(bench.follower->folders().empty());  // nothing announces changes there
}

TEST_CASE("a shared file system that hung is left alone, and that is told") {
  FollowBench bench;
  bench.is_shared = true;
  bench.append("node-a.log", "x\n");
  bench.watch(bench.folder + "/%h.log", 1000000, false);
  bench.look();
  CHECK(bench.follower->files() == 0);
  REQUIRE(bench.follower->troubles().size() == 1);
  CHECK(bench.follower->troubles()[0].find("did not answer") != std::string::npos);
}

TEST_CASE("globs that are taken away take their files along, the others stay where they are") {
  FollowBench bench;
  bench.append("a.log", "old\n");
  bench.append("b.txt", "old\n");
  bench.follower->set_globs(
      {{bench.path("*.log"), 1000, bench.since_ms}, {bench.path("*.txt"), 1000, bench.since_ms}},
      {});
  bench.look();
  CHECK(bench.follower->files() == 2);
  bench.watch(bench.path("*.txt"));
  bench.append("a.log", "a\n");
  bench.append("b.txt", "b\n");
  bench.look();
  CHECK(bench.take() == "b\n");
  CHECK(bench.forgotten == 1);
}

TEST_CASE("a glob with too much to look through is told, and hides neither its files nor others'") {
  FollowBench bench;
  bench.append("a.log", "");
  bench.append("b.log", "");
  std::string wide = "{" + bench.path("a.log") + "," + bench.path("x");
  for (int i = 0; i < 14; ++i) wide += "{.,-}";
  bench.follower->set_globs(
      {{wide + "*}", 1000000, bench.since_ms}, {bench.path("b.log"), 1000000, bench.since_ms}}, {});
  bench.look();
  bench.look();  // the other glob's turn
  REQUIRE(bench.follower->troubles().size() == 1);
  CHECK(bench.follower->troubles()[0].find("too much to look through") != std::string::npos);
  bench.append("a.log", "one\n");
  bench.append("b.log", "two\n");
  bench.look();
  CHECK(bench.take().size() == std::string("one\ntwo\n").size());
  CHECK(bench.follower->files() == 2);
}
