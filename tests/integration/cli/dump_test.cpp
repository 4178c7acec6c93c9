// SPDX-License-Identifier: Apache-2.0
//
// `inspect --dump` beside processes that read a pipe and write a dump as PyTorch does.
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <string>
#include <thread>
#include <vector>

#include "tests/integration/cli/program.h"
#include "tests/support/catch.h"

using namespace collwatch;
using Catch::Matchers::ContainsSubstring;
using test::run_collwatch;
namespace fs = std::filesystem;

namespace {

/// Arguments: the beginning of the pipe's name, that of the dump's, what to answer with.
constexpr const char* kRank = R"(
import os, pickle, sys, time
pipe_stem, dump_stem, manner = sys.argv[1:4]
rank = os.environ["RANK"]
pipe = pipe_stem + rank + ".pipe"
os.mkfifo(pipe)
fd = os.open(pipe, os.O_RDONLY | os.O_NONBLOCK)
open(dump_stem + rank + ".ready", "w").close()
def entry(op, state):
  return {"record_id": 0, "pg_id": 0, "process_group": ("0", "default_pg"), "collective_seq_id": 1,
          "profiling_name": "nccl:" + op, "time_created_ns": 1, "duration_ms": None,
          "input_sizes": [[16]], "output_sizes": [[16]], "input_dtypes": ["Float"],
          "output_dtypes": ["Float"], "state": state, "retired": False, "is_p2p": False}
op = {"0": "all_reduce", "1": "all_reduce"}.get(rank, "broadcast")
dump = {"version": "2.4", "nccl_version": "2.21.5",
        "pg_config": {"0": {"name": "0", "desc": "default_pg", "ranks": "[0, 1, 2]"}},
        "entries": [entry(op, "started")]}
for i in range(6000):
  if os.read(fd, 128):
    with open(dump_stem + rank, "wb") as out:
      if manner == "junk":
        out.write(b"root:x:0:0: secret}")
      else:
        whole = pickle.dumps(dump, 2)
        out.write(whole[:20]); out.flush(); time.sleep(0.4); out.write(whole[20:])
  time.sleep(0.01)
)";

bool has_python() {
  if (std::system("python3 -c pass 2>/dev/null") == 0) return true;
  std::cout << "SKIPPED: no python3\n";
  return false;
}

class Ranks {
 public:
  Ranks() {
    std::string name = fs::temp_directory_path() / "collwatch-dump-XXXXXX";
    REQUIRE(mkdtemp(name.data()) != nullptr);
    folder_ = name;
    std::ofstream(folder_ / "rank.py") << kRank;
  }
  ~Ranks() {
    for (const int pid : pids_) {
      kill(pid, SIGKILL);
      waitpid(pid, nullptr, 0);
    }
    fs::remove_all(folder_);
  }
  Ranks(const Ranks&) = delete;
  Ranks& operator=(const Ranks&) = delete;

  /// Ready to be asked when it returns; without a `pipe` its environment names none.
  int start(int rank, const std::string& manner = "dump", bool pipe = true) {
    const std::string job = "TORCHELASTIC_RUN_ID=dump-test-" + std::to_string(getpid());
    const std::string number = "RANK=" + std::to_string(rank);
    const std::string dumps = "TORCH_FR_DUMP_TEMP_FILE=" + at("dump_");
    const std::string pipes = (pipe ? "TORCH_NCCL_DEBUG_INFO_PIPE_FILE=" : "UNUSED=") + at("pipe_");
    const std::string path = "PATH=/usr/local/bin:/usr/bin:/bin";
    const std::string script = at("rank.py"), pipe_stem = at("pipe_"), dump_stem = at("dump_");
    const char* const variables[] = {job.c_str(),  number.c_str(), dumps.c_str(), pipes.c_str(),
                                     path.c_str(), "WORLD_SIZE=3", nullptr};
    const char* const words[] = {
        "env",          "python3", script.c_str(), pipe_stem.c_str(), dump_stem.c_str(),
        manner.c_str(), nullptr};
    const int pid = fork();
    if (pid == 0) {
      execve("/usr/bin/env", const_cast<char**>(words), const_cast<char**>(variables));
      _exit(127);
    }
    REQUIRE(pid > 0);
    pids_.push_back(pid);
    const std::string ready = at("dump_" + std::to_string(rank) + ".ready");
    for (int i = 0; i < 1000 && !fs::exists(ready); ++i) {
      std::this_thread::sleep_for(std::chrono::milliseconds(10));
    }
    REQUIRE(fs::exists(ready));
    return pid;
  }
  std::string at(const std::string& name) const { return folder_ / name; }

 private:
  fs::path folder_;
  std::vector<int> pids_;
};

}  // namespace

TEST_CASE("inspect --dump: says that it writes, asks every rank, names who called something else") {
  if (!has_python()) return;
  Ranks ranks;
  for (int rank = 0; rank < 3; ++rank) ranks.start(rank);
  // Other tests' ranks may run here, too; they have no pipes.
  const auto ran = run_collwatch({"inspect", "--dump"});
  INFO(ran.out << ran.err);
  CHECK(ran.code == 1);
  CHECK_THAT(ran.err, ContainsSubstring("this writes to the job"));
  CHECK_THAT(ran.err, ContainsSubstring(ranks.at("pipe_2.pipe")));
  for (const char* const name : {"dump_0", "dump_1", "dump_2"}) {
    CHECK_THAT(ran.out, ContainsSubstring(": " + ranks.at(name) + " ("));
  }
  CHECK_THAT(ran.out, ContainsSubstring("collective_desync"));
  CHECK_THAT(ran.out, ContainsSubstring("rank 2"));
  const auto shown = run_collwatch({"inspect", "--once"});
  CHECK_THAT(shown.out, ContainsSubstring("dump of rank 2: " + ranks.at("dump_2")));
  CHECK_THAT(shown.out, ContainsSubstring("--dump can ask for a dump: rank 0-2"));
}

TEST_CASE("inspect --dump --pid --json: one rank, one document, nothing else on standard output") {
  if (!has_python()) return;
  Ranks ranks;
  const std::string pid = std::to_string(ranks.start(0));
  ranks.start(1);
  const auto ran = run_collwatch({"inspect", "--dump", "--pid", pid, "--json"});
  INFO(ran.out << ran.err);
  CHECK(ran.out.substr(0, 1) == "{");
  CHECK_THAT(ran.err, ContainsSubstring(ranks.at("dump_0")));
  CHECK_THAT(ran.out, ContainsSubstring("\"fingerprint\""));
  CHECK(fs::exists(ranks.at("dump_0")));
  CHECK_FALSE(fs::exists(ranks.at("dump_1")));
}

TEST_CASE("inspect --dump: what a rank wrote and is no dump is not shown to anybody") {
  if (!has_python()) return;
  Ranks ranks;
  const std::string pid = std::to_string(ranks.start(0, "junk"));
  const auto ran = run_collwatch({"inspect", "--dump", "--pid", pid});
  INFO(ran.out << ran.err);
  CHECK(ran.code == 2);
  CHECK_THAT(ran.err, ContainsSubstring("what the ranks wrote is no dump"));
  CHECK((ran.out + ran.err).find("secret") == std::string::npos);
}

TEST_CASE("inspect --dump without a pipe writes nothing and says how to get one") {
  if (!has_python()) return;
  Ranks ranks;
  const std::string pid = std::to_string(ranks.start(0, "dump", false));
  const auto ran = run_collwatch({"inspect", "--dump", "--pid", pid});
  CHECK(ran.code == 2);
  CHECK(ran.out.empty());
  CHECK_THAT(ran.err, ContainsSubstring("no rank has a pipe to be asked through"));
  CHECK_THAT(ran.err, ContainsSubstring("TORCH_NCCL_DEBUG_INFO_PIPE_FILE"));
  CHECK(ran.err.find("this writes to the job") == std::string::npos);
  CHECK_FALSE(fs::exists(ranks.at("dump_0")));
}
