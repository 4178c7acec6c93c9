// SPDX-License-Identifier: Apache-2.0
//
// Which files of the Flight Recorder a look finds beside ranks, and which it does not touch.
#include "daemon/processes/flight_files.h"

#include <sys/stat.h>
#include <unistd.h>

#include <chrono>
#include <filesystem>
#include <map>
#include <string>
#include <utility>

#include "daemon/processes/scan.h"
#include "tests/support/catch.h"
#include "tests/unit/processes/fake_proc.h"

using namespace collwatch;
using namespace collwatch::processes;
namespace fs = std::filesystem;

namespace {

using Variables = std::map<std::string, std::string>;

constexpr int kPid = 17;
constexpr const char* kStem = "TORCH_NCCL_DEBUG_INFO_TEMP_FILE";
constexpr const char* kPipeStem = "TORCH_NCCL_DEBUG_INFO_PIPE_FILE";

/// Rank 3 of a job, with these variables beside the usual ones.
class OneRank {
 public:
  explicit OneRank(const Variables& variables, std::optional<unsigned> user = std::nullopt) {
    test::FakeProcess process = test::torch_rank(kPid, 3, 4);
    process.user = user;
    for (const auto& [name, value] : variables) process.environment[name] = value;
    proc_.put(process);
  }
  const test::FakeProc& proc() const { return proc_; }
  fs::path root() const { return proc_.folder(kPid) / "root"; }
  FlightFiles look(bool wanted = true) const {
    Surroundings here = proc_.surroundings();
    here.flight_files = wanted;
    const ProcessReport report = scan(here, nullptr, std::chrono::steady_clock::now());
    REQUIRE(report.processes.size() == 1);
    return report.processes[0].flight;
  }

 private:
  test::FakeProc proc_;
};

}  // namespace

TEST_CASE("names of dumps: what is configured, else the defaults of all versions") {
  using Names = std::vector<std::string>;
  CHECK(dump_names({{"TORCH_FR_DUMP_TEMP_FILE", "/a/x_"}, {kStem, "/b/y_"}, {"HOME", "/h"}}, 3) ==
        Names{"/a/x_3"});
  CHECK(dump_names({{kStem, "/b/y_"}, {"HOME", "/h"}}, 12) == Names{"/b/y_12"});
  CHECK(dump_names({{"HOME", "/h"}, {"XDG_CACHE_HOME", "/c"}}, 0) ==
        Names{"/c/torch/comm_lib_trace_rank_0", "/h/.cache/torch/comm_lib_trace_rank_0",
              "/tmp/nccl_trace_rank_0"});
  CHECK(dump_names({}, 0) == Names{"/tmp/nccl_trace_rank_0"});
  CHECK(pipe_name({{kPipeStem, "/p/pipe_"}}, 3) == "/p/pipe_3.pipe");
  CHECK_FALSE(pipe_name({{kPipeStem, ""}}, 3).has_value());
}

TEST_CASE("a dump is found through the process' own root, with its age and owner") {
  const std::string stem = "/dumps/tr\xc3\xa4z_";
  const OneRank rank(Variables{{kStem, stem}});
  const std::string name = stem + "3";
  rank.proc().put_file(kPid, name, "12345.");
  auto found = rank.look();
  REQUIRE(found.dumps.size() == 1);
  CHECK(found.dumps[0].path == (rank.root().string() + name));
  CHECK(found.dumps[0].bytes == 6);
  CHECK(found.dumps[0].of_user);
  CHECK_FALSE(found.dumps[0].before_process);
  CHECK_FALSE(found.pipe_place.has_value());
  // The process is 990 s old.
  fs::last_write_time(rank.root().string() + name,
                      fs::file_time_type::clock::now() - std::chrono::seconds(1200));
  found = rank.look();
  REQUIRE(found.dumps.size() == 1);
  CHECK(found.dumps[0].before_process);
  CHECK(found.dumps[0].age_seconds > 1100);
  CHECK(rank.look(false).dumps.empty());
}

TEST_CASE("a dump of another user is told to be one, a default is found in HOME") {
  const OneRank rank(Variables{{"HOME", "/home/me"}}, ::geteuid() + 1);
  rank.proc().put_file(kPid, "/home/me/.cache/torch/comm_lib_trace_rank_3", "{}");
  const auto found = rank.look();
  REQUIRE(found.dumps.size() == 1);
  CHECK_FALSE(found.dumps[0].of_user);
}

TEST_CASE("a relative name is below the folder that the process is in") {
  const OneRank rank(Variables{{kStem, "trace_"}});
  const fs::path folder = rank.proc().folder(kPid) / "cwd";
  fs::create_directories(folder);
  rank.proc().put_file(kPid, "/trace_3", "not this one");
  CHECK(rank.look().dumps.empty());
  fs::copy_file(rank.root() / "trace_3", folder / "trace_3");
  REQUIRE(rank.look().dumps.size() == 1);
  CHECK(rank.look().dumps[0].path == folder / "trace_3");
}

TEST_CASE("what is no regular file, or lies outside the root, is no dump") {
  const OneRank rank(Variables{{kStem, "/dumps/trace_"}});
  const fs::path place = rank.root() / "dumps/trace_3";
  fs::create_directories(place);
  CHECK(rank.look().dumps.empty());
  fs::remove(place);
  REQUIRE(mkfifo(place.c_str(), 0600) == 0);
  CHECK(rank.look().dumps.empty());
  fs::remove(place);
  fs::create_symlink("/etc/passwd", place);
  CHECK(rank.look().dumps.empty());
}

TEST_CASE("the pipe is a FIFO of the process' user and no link to one") {
  const OneRank rank(Variables{{kPipeStem, "/pipes/p_"}});
  const fs::path place = rank.root() / "pipes/p_3.pipe";
  fs::create_directories(place.parent_path());
  REQUIRE(rank.look().pipe_place.has_value());
  CHECK(rank.look().pipe_problem == "it does not exist");
  rank.proc().put_file(kPid, "/pipes/p_3.pipe", "");
  CHECK(rank.look().pipe_problem == "it is no FIFO");
  fs::remove(place);
  fs::create_directories(place);
  CHECK(rank.look().pipe_problem == "it is no FIFO");
  fs::remove(place);
  REQUIRE(mkfifo((place.string() + ".real").c_str(), 0600) == 0);
  fs::create_symlink("p_3.pipe.real", place);
  CHECK(rank.look().pipe_problem == "it is a symbolic link");
  fs::remove(place);
  fs::rename(place.string() + ".real", place);
  CHECK(rank.look().pipe_problem.empty());
  CHECK(rank.look().pipe_place->shown == place);

  const OneRank other(Variables{{kPipeStem, "/p_"}}, ::geteuid() + 1);
  REQUIRE(mkfifo((other.root() / "p_3.pipe").c_str(), 0600) == 0);
  CHECK(other.look().pipe_problem == "it belongs to user " + std::to_string(::geteuid()) +
                                         ", the process runs as " +
                                         std::to_string(::geteuid() + 1));
}
