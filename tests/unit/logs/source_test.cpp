// SPDX-License-Identifier: Apache-2.0
//
// Layouts of the launchers: what a path says about its writer, which files of a folder are logs,
// numbered names that are ranks and those that are not.
#include "daemon/logs/source.h"

#include <sys/stat.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "tests/support/catch.h"

using namespace collwatch;
using logs::hint_from_path;
using logs::Source;
namespace fs = std::filesystem;

namespace {

class Folder {
 public:
  Folder() {
    std::string name = (fs::temp_directory_path() / "collwatch-source-XXXXXX").string();
    REQUIRE(mkdtemp(name.data()) != nullptr);
    path_ = name;
  }
  ~Folder() { fs::remove_all(path_); }
  void add(const std::string& name) const {
    const fs::path path = path_ / name;
    fs::create_directories(path.parent_path());
    std::ofstream(path) << "x\n";
  }
  std::string path() const { return path_.string(); }

 private:
  fs::path path_;
};

std::vector<Source> sources_in(const Folder& folder) {
  auto found = logs::find_sources({folder.path()});
  REQUIRE(found.has_value());
  return *found;
}

/// The rank of each file, -1 where none is known, in the order of the names.
std::vector<int> ranks_of(const Folder& folder) {
  std::vector<int> ranks;
  for (const Source& source : sources_in(folder)) ranks.push_back(source.hint.rank.value_or(-1));
  return ranks;
}

}  // namespace

TEST_CASE("a path's own words for the rank") {
  struct Row {
    const char* path;
    int rank;  ///< -1: none
  };
  const Row rows[] = {{"rank3.log", 3},
                      {"rank_3.log", 3},
                      {"rank-12.out", 12},
                      {"Rank.7.txt", 7},
                      {"logs/rank=5.log", 5},
                      {"nccl-rank-6.log", 6},
                      {"train_rank0.stderr.gz", 0},
                      {"rank4/stdout.log", 4},
                      {"ranking.log", -1},
                      {"frank3.log", -1},
                      {"localrank3.log", -1},
                      {"rank.log", -1},
                      {"rank99999999999.log", -1},
                      {"ranks/all.log", -1},
                      {"", -1}};
  for (const Row& row : rows) {
    CAPTURE(row.path);
    CHECK(hint_from_path(row.path).rank.value_or(-1) == row.rank);
  }
}

TEST_CASE("torchrun: attempt and local rank, as folders and in one name") {
  for (const char* path : {"/tmp/run_x/none_1a2b/attempt_1/3/stderr.log", "attempt_1_3_stderr.log",
                           "run/attempt_1/3/stdout.log"}) {
    CAPTURE(path);
    const auto hint = hint_from_path(path);
    CHECK(hint.attempt == 1);
    CHECK(hint.local_rank == 3);
    CHECK_FALSE(hint.rank.has_value());
  }
  CHECK_FALSE(hint_from_path("attempts/3/stderr.log").attempt.has_value());
  CHECK_FALSE(hint_from_path("attempt_x/3/stderr.log").attempt.has_value());
  CHECK(hint_from_path("local_rank2.log").local_rank == 2);
  CHECK_FALSE(hint_from_path("local_rank2.log").rank.has_value());
}

TEST_CASE("Ray: the number at the end is a pid, never a rank") {
  const auto hint = hint_from_path("session_latest/logs/worker-9f3c-01000000-48213.out");
  CHECK(hint.pid == 48213);
  CHECK_FALSE(hint.rank.has_value());
  CHECK_FALSE(hint_from_path("worker-3.log").pid.has_value());
}

TEST_CASE("Kubernetes: the pod is the host, the number of the file a restart") {
  const auto hint = hint_from_path(
      "/var/log/pods/ml_trainer-2_11111111-2222-3333-4444-555555555555/pytorch/1.log");
  CHECK(hint.host == "trainer-2");
  CHECK(hint.attempt == 1);
  CHECK_FALSE(hint.rank.has_value());
}

TEST_CASE("Slurm's %t and other numbered names are ranks where they count from 0") {
  const Folder slurm;
  for (const char* name : {"job.4711.0.out", "job.4711.1.out", "job.4711.2.out"}) slurm.add(name);
  CHECK(ranks_of(slurm) == std::vector<int>{0, 1, 2});

  const Folder ten;
  for (int i = 0; i < 11; ++i) ten.add("out-" + std::to_string(i) + ".txt");
  for (const Source& source : sources_in(ten)) {
    CHECK(source.name.find("out-" + std::to_string(source.hint.rank.value_or(-1)) + ".txt") !=
          std::string::npos);
  }
  const Folder gap;  // one is missing: job numbers, dates, anything
  for (const char* name : {"a.0.log", "a.1.log", "a.3.log"}) gap.add(name);
  CHECK(ranks_of(gap) == std::vector<int>{-1, -1, -1});
  const Folder from_one;
  for (const char* name : {"a.1.log", "a.2.log"}) from_one.add(name);
  CHECK(ranks_of(from_one) == std::vector<int>{-1, -1});
  const Folder alone;
  alone.add("train.0.log");
  CHECK(ranks_of(alone) == std::vector<int>{-1});
}

TEST_CASE("a name that says its rank is left alone by its neighbours' numbers") {
  const Folder folder;
  for (const char* name : {"rank4.0.log", "rank5.1.log"}) folder.add(name);
  CHECK(ranks_of(folder) == std::vector<int>{4, 5});
}

TEST_CASE("a folder is walked, in the order of the names, without what cannot be a log") {
  const Folder folder;
  for (const char* name : {"b/rank1.log", "a/rank0.log.gz", "model.pt", "config.yaml", "trace.JSON",
                           "a/dmesg", "x.py"})
    folder.add(name);
  fs::create_symlink("/nowhere", folder.path() + "/dangling.log");
  std::vector<std::string> names;
  std::vector<std::string> no_logs;
  for (const Source& source : sources_in(folder))
    (source.is_no_log ? no_logs : names).push_back(source.name.substr(folder.path().size() + 1));
  CHECK(names == std::vector<std::string>{"a/dmesg", "a/rank0.log.gz", "b/rank1.log"});
  // Dumps of the Flight Recorder may be called so; whoever opens it sees.
  CHECK(no_logs == std::vector<std::string>{"trace.JSON"});
}

TEST_CASE("a file that is named is read whatever its ending, nothing is an error with its name") {
  const Folder folder;
  folder.add("events.json");
  const auto named = logs::find_sources({folder.path() + "/events.json"});
  REQUIRE(named.has_value());
  CHECK(named->size() == 1);
  const auto missing = logs::find_sources({folder.path() + "/none"});
  REQUIRE_FALSE(missing.has_value());
  CHECK(missing.error().text == folder.path() + "/none: no such file or folder");
  CHECK(logs::find_sources({"-"})->front().is_stdin);
  CHECK(sources_in(Folder()).empty());
}

TEST_CASE("a pipe among the files of a folder is not waited for") {
  const Folder folder;
  folder.add("rank0.log");
  REQUIRE(mkfifo((folder.path() + "/rank1.log").c_str(), 0600) == 0);
  CHECK(sources_in(folder).size() == 1);
}
