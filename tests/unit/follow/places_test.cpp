// SPDX-License-Identifier: Apache-2.0
//
// More files than places: those that are read and done with give way, nobody is read twice, and
// what has to wait is told.
#include <fcntl.h>
#include <sys/stat.h>

#include "tests/unit/follow/follow_bench.h"

using namespace collwatch;
using test::FollowBench;

namespace {

/// With two places instead of 512.
struct Crowded : FollowBench {
  Crowded() {
    places = 2;
    restart();
    watch(path("*.log"));
    look();
  }
  /// As if it had last been written to so many seconds ago.
  void age(const std::string& name, int seconds) const {
    timespec times[2] = {};
    clock_gettime(CLOCK_REALTIME, &times[0]);
    times[0].tv_sec -= seconds;
    times[1] = times[0];
    REQUIRE(utimensat(AT_FDCWD, path(name).c_str(), times, 0) == 0);
  }
  /// Written, read, and then left alone for long.
  void finished(const std::string& name, int seconds_ago = 60) {
    append(name, name + "\n");
    age(name, seconds_ago);
    look();
  }
  void four_finished() {
    int ago = 200;
    for (const char* name : {"a.log", "b.log", "c.log", "d.log"}) finished(name, ago -= 30);
  }
};

}  // namespace

TEST_CASE("files that are done with give way to new ones, however many there were") {
  Crowded bench;
  for (int i = 0; i < 7; ++i) bench.finished("old" + std::to_string(i) + ".log", 600 - 30 * i);
  bench.append("new.log", "new\n");
  bench.look();
  const std::string read = bench.take();
  for (int i = 0; i < 7; ++i) {
    CHECK(read.find("old" + std::to_string(i) + ".log\n") != std::string::npos);
  }
  CHECK(read.find("new\n") != std::string::npos);
  CHECK(bench.follower->files() == 2);
  CHECK(bench.follower->parked() == 6);
  CHECK(bench.follower->stats().waiting == 0);
  CHECK(bench.follower->troubles().empty());
  CHECK(bench.forgotten == 0);
}

TEST_CASE("a file that gave way and grows is read on from where it was, and not again") {
  Crowded bench;
  bench.four_finished();
  CHECK(bench.take() == "a.log\nb.log\nc.log\nd.log\n");
  bench.append("a.log", "more\n");
  bench.look();
  CHECK(bench.take() == "more\n");
  CHECK(bench.first_lines.back() == 2);
  bench.look();
  CHECK(bench.take().empty());
}

TEST_CASE("what gave way is not read again by the next watcher, nor what it could not hold") {
  Crowded bench;
  bench.four_finished();
  bench.look();  // positions are told once a second
  CHECK(bench.take() == "a.log\nb.log\nc.log\nd.log\n");
  CHECK(bench.positions.size() == 4);
  bench.restart();
  bench.since_ms = 0;
  bench.watch(bench.path("*.log"));
  bench.look();
  CHECK(bench.take().empty());
  bench.append("a.log", "more\n");
  bench.append("c.log", "more\n");
  bench.look();
  bench.look();
  CHECK(bench.take() == "more\nmore\n");
  CHECK(bench.follower->parked() == 2);
}

TEST_CASE("of files that were there before, those that do not fit are read when they grow") {
  FollowBench bench;
  for (const char* name : {"a.log", "b.log", "c.log", "d.log"}) bench.append(name, "old\nhalf");
  bench.places = 2;
  bench.restart();
  bench.watch(bench.path("*.log"));
  bench.look();
  CHECK(bench.follower->parked() == 2);
  CHECK(bench.follower->stats().waiting == 0);
  for (const char* name : {"a.log", "b.log", "c.log", "d.log"}) bench.append(name, " line\n");
  // All are busy: they take turns.
  for (int i = 0; i < 20; ++i) bench.look();
  CHECK(bench.take() == "half line\nhalf line\nhalf line\nhalf line\n");
}

TEST_CASE("where all are busy the others wait, counted, and take turns") {
  Crowded bench;
  for (const char* name : {"a.log", "b.log", "c.log"}) bench.append(name, "first\n");
  bench.look();
  CHECK(bench.take() == "first\nfirst\n");
  CHECK(bench.follower->stats().waiting == 1);
  CHECK(bench.follower->stats().lag == 6);
  REQUIRE(bench.follower->troubles().size() == 1);
  CHECK(bench.follower->troubles()[0].find("wait for their turn") != std::string::npos);
  for (int i = 0; i < 6; ++i) bench.look();
  CHECK(bench.take() == "first\n");
  CHECK(bench.follower->stats().waiting == 0);
  CHECK(bench.follower->stats().lag == 0);
  CHECK(bench.follower->troubles().empty());
}

TEST_CASE("a file that is gone gives way at once, and one that waited and is gone was skipped") {
  Crowded bench;
  for (const char* name : {"a.log", "b.log", "c.log"}) bench.append(name, "first\n");
  bench.look();
  bench.take();
  // Which of the three waits is the file system's affair.
  std::string waiting;
  for (const auto& [file, position] : bench.positions) {
    if (position.offset == 0) waiting = position.path;
  }
  REQUIRE_FALSE(waiting.empty());
  test::fs::remove(waiting);
  bench.look();
  bench.look(base::Millis(11000));
  CHECK(bench.follower->stats().skipped == 6);
  CHECK(bench.follower->stats().waiting == 0);
  CHECK(bench.forgotten == 1);
  CHECK(bench.follower->files() == 2);

  for (const char* name : {"a.log", "b.log", "c.log"}) test::fs::remove(bench.path(name));
  bench.append("d.log", "next\n");
  bench.look();
  CHECK(bench.take() == "next\n");
}

TEST_CASE("of very many files the oldest are no longer known, and are not read anew for that") {
  follow::ParkedFiles parked;
  follow::ParkedFile file;
  constexpr auto kMost = static_cast<std::int64_t>(follow::ParkedFiles::kMostParked);
  for (std::int64_t i = 1; i <= kMost; ++i) {
    file.changed_ns = 1000 + i;
    CHECK(parked.park({1, static_cast<std::uint64_t>(i)}, file).empty());
  }
  CHECK(parked.settled_ns() == 0);
  CHECK(parked.is_too_old(1001));
  CHECK_FALSE(parked.is_too_old(1002));
  file.changed_ns = 9000;
  const auto gone = parked.park({2, 1}, file);
  REQUIRE(gone.size() == 1);
  CHECK(gone[0].first == follow::FileIdentity{1, 1});
  CHECK(parked.settled_ns() == 1001);
  CHECK(parked.all().size() == static_cast<std::size_t>(kMost));
}

TEST_CASE("what was settled in an earlier life is left alone until it is written to") {
  FollowBench bench;
  bench.append("old.log", "read long ago\n");
  struct stat info {};
  REQUIRE(stat(bench.path("old.log").c_str(), &info) == 0);
  bench.plan.settled_ns = info.st_mtim.tv_sec * 1000000000LL + info.st_mtim.tv_nsec;
  bench.since_ms = 0;
  bench.watch(bench.path("*.log"));
  bench.look();
  CHECK(bench.take().empty());
  CHECK(bench.follower->files() == 0);
  bench.append("old.log", "new\n");
  bench.look();
  bench.append("old.log", "newer\n");
  bench.look();
  CHECK(bench.take() == "newer\n");  // how far it had been read nobody knows: from its end on
}
