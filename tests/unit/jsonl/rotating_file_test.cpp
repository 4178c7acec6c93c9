// SPDX-License-Identifier: Apache-2.0
//
// Rotation, repair and recovery. A full disk is made by a file size limit, which cuts a write short
// exactly like one; no root needed.
#include "exporters/jsonl/rotating_file.h"

#include <fcntl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <csignal>

#include "tests/support/catch.h"
#include "tests/unit/jsonl/temp_folder.h"

using namespace collwatch::exporters;
using collwatch::test::lines;
using collwatch::test::TempFolder;
using Lines = std::vector<std::string>;

namespace {

/// While it lives no file of this process grows beyond `bytes`.
class DiskLimit {
 public:
  explicit DiskLimit(rlim_t bytes) {
    std::signal(SIGXFSZ, SIG_IGN);
    getrlimit(RLIMIT_FSIZE, &before_);
    rlimit limit = before_;
    limit.rlim_cur = bytes;
    setrlimit(RLIMIT_FSIZE, &limit);
  }
  ~DiskLimit() { setrlimit(RLIMIT_FSIZE, &before_); }
  DiskLimit(const DiskLimit&) = delete;
  DiskLimit& operator=(const DiskLimit&) = delete;

 private:
  rlimit before_{};
};

}  // namespace

TEST_CASE("lines are appended to what is there") {
  TempFolder folder;
  const auto path = folder / "log";
  REQUIRE(RotatingFile::open(path, 1000)->append("one"));
  REQUIRE(RotatingFile::open(path, 1000)->append("two"));
  CHECK(lines(path) == Lines{"one", "two"});
}

TEST_CASE("a file that would outgrow its limit becomes the one old file") {
  TempFolder folder;
  const auto path = folder / "log";
  auto file = RotatingFile::open(path, 10);
  for (const char* line : {"aaaa", "bbbb", "cccc", "dddd", "eeee"}) REQUIRE(file->append(line));
  CHECK(lines(path) == Lines{"eeee"});
  CHECK(lines(path + ".1") == Lines{"cccc", "dddd"});
  CHECK(std::filesystem::file_size(path + ".1") <= 10);
  CHECK_FALSE(std::filesystem::exists(path + ".2"));
}

TEST_CASE("a line longer than the limit still gets a file of its own") {
  TempFolder folder;
  const auto path = folder / "log";
  auto file = RotatingFile::open(path, 4);
  REQUIRE(file->append("far too long"));
  REQUIRE(file->append("x"));
  CHECK(lines(path) == Lines{"x"});
  CHECK(lines(path + ".1") == Lines{"far too long"});
}

TEST_CASE("a line that an earlier process left half written is ended first") {
  TempFolder folder;
  const auto path = folder / "log";
  std::ofstream(path) << "whole\nhal";
  REQUIRE(RotatingFile::open(path, 1000)->append("next"));
  CHECK(lines(path) == Lines{"whole", "hal", "next"});
}

TEST_CASE("what a full disk cuts off is taken back, and lines go on when there is room") {
  TempFolder folder;
  const auto path = folder / "log";
  auto file = RotatingFile::open(path, 1000);
  REQUIRE(file->append("before"));
  {
    const DiskLimit limit(12);
    CHECK_FALSE(file->append("does not fit"));  // five bytes of it would
    CHECK_FALSE(file->append("nor this one"));
    CHECK(file->append("fits"));
  }
  REQUIRE(file->append("after"));
  CHECK(lines(path) == Lines{"before", "fits", "after"});
}

TEST_CASE("a file moved away by somebody else is begun anew") {
  TempFolder folder;
  const auto path = folder / "log";
  auto file = RotatingFile::open(path, 1000);
  REQUIRE(file->append("old"));
  std::filesystem::rename(path, folder / "kept");
  REQUIRE(file->append("new"));
  CHECK(lines(folder / "kept") == Lines{"old"});
  CHECK(lines(path) == Lines{"new"});
}

TEST_CASE("a folder that vanishes loses lines until it is back") {
  TempFolder folder;
  std::filesystem::create_directory(folder / "sub");
  const auto path = folder / "sub/log";
  auto file = RotatingFile::open(path, 1000);
  REQUIRE(file->append("one"));
  std::filesystem::remove_all(folder / "sub");
  CHECK_FALSE(file->append("lost"));
  std::filesystem::create_directory(folder / "sub");
  REQUIRE(file->append("two"));
  CHECK(lines(path) == Lines{"two"});
}

TEST_CASE("a path that cannot be used is an error in one sentence") {
  TempFolder folder;
  const auto missing = RotatingFile::open(folder / "no/such/log", 1000);
  REQUIRE_FALSE(missing);
  CHECK(missing.error().text ==
        "cannot open '" + (folder / "no/such/log") + "': No such file or directory");

  CHECK_FALSE(RotatingFile::open(folder / "", 1000));
  REQUIRE(mkfifo((folder / "fifo").c_str(), 0600) == 0);
  const auto fifo = RotatingFile::open(folder / "fifo", 1000);
  REQUIRE_FALSE(fifo);
  CHECK(fifo.error().text == "cannot write to '" + (folder / "fifo") + "': not a regular file");
}

TEST_CASE("a device is written to and never rotated") {
  auto null = RotatingFile::open("/dev/null", 4);
  REQUIRE(null);
  CHECK(null->append("longer than four"));
  auto full = RotatingFile::open("/dev/full", 4);
  REQUIRE(full);
  CHECK_FALSE(full->append("never"));
}

TEST_CASE("the descriptor is not inherited") {
  TempFolder folder;
  const int lowest = dup(0);
  close(lowest);
  auto file = RotatingFile::open(folder / "log", 1000);
  CHECK((fcntl(lowest, F_GETFD) & FD_CLOEXEC) != 0);
  CHECK((fcntl(lowest, F_GETFL) & O_APPEND) != 0);
}
