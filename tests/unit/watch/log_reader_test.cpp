// SPDX-License-Identifier: Apache-2.0
//
// From lines of a followed log to findings: which are told, about whom, and which never.
#include "daemon/watch/log_reader.h"

#include "daemon/watch/finding.h"
#include "daemon/watch/repeats.h"
#include "tests/support/catch.h"
#include "tests/support/patterns.h"

using namespace collwatch;
using model::Fingerprint;

namespace {

class Log {
 public:
  explicit Log(std::string path) : path_(std::move(path)), reader_(test::patterns(), path_) {}

  std::vector<wire::Finding> lines(const std::string& text, std::int64_t first_line = 1,
                                   bool is_context = false) {
    return reader_.read({{1, 2}, path_, text, first_line, text.ends_with('\n'), is_context});
  }

 private:
  std::string path_;
  watch::LogReader reader_;
};

const std::string kLost =
    "RuntimeError: [../third_party/gloo/gloo/transport/tcp/pair.cc:534] Connection closed by peer "
    "[127.0.0.1]:23456\n";

}  // namespace

TEST_CASE("a line of a failure becomes a finding with rank, file, line and job") {
  Log log("/home/me/slurm-4711_2.out");
  const auto found = log.lines("step 1\n[rank2]: " + kLost, 41);
  REQUIRE(found.size() == 1);
  CHECK(found[0].fingerprint == Fingerprint::gloo_peer_lost);
  CHECK(found[0].source == model::Source::log);
  CHECK(found[0].role == "collateral");
  CHECK(found[0].rank == 2);
  CHECK(found[0].line == 42);
  CHECK(found[0].job == "slurm:4711_2");
  CHECK(found[0].file == "/home/me/slurm-4711_2.out");
  CHECK(found[0].text.find("Connection closed by peer") != std::string::npos);
}

TEST_CASE("the path names the rank where the lines do not") {
  Log log("/var/log/train/rank3.log");
  const auto found = log.lines(kLost);
  REQUIRE(found.size() == 1);
  CHECK(found[0].rank == 3);
  CHECK(found[0].job.empty());
}

TEST_CASE("context says who writes, and is not told") {
  Log log("/var/log/train/job.log");
  CHECK(log.lines("[rank1]: Traceback (most recent call last):\n" + kLost, 1, true).empty());
  const auto found = log.lines("[rank1]: more\n" + kLost, 3);
  REQUIRE(found.size() == 1);
  CHECK(found[0].rank == 1);
}

TEST_CASE("a traceback may come in as many pieces as it likes") {
  Log log("/var/log/train/rank0.log");
  std::size_t found = 0;
  std::int64_t number = 0;
  for (const std::string line :
       {"Traceback (most recent call last):\n", "  File \"train.py\", line 9, in <module>\n",
        "    dist.all_reduce(t)\n"}) {
    found += log.lines(line, ++number).size();
  }
  CHECK(found == 0);
  CHECK(log.lines(kLost, ++number).size() == 1);
}

TEST_CASE("a later failure of the same words is found again") {
  Log log("/var/log/train/rank0.log");
  CHECK(log.lines(kLost, 1).size() == 1);
  CHECK(log.lines(kLost, 500).size() == 1);
}

TEST_CASE("ordinary, benign and merely shaped lines are silent") {
  Log log("/var/log/train/rank0.log");
  for (const char* line :
       {"epoch 3: loss 0.12\n", "INFO connection to tracking server closed, retrying\n",
        "eth0: Link is Up\n", "Traceback (most recent call last):\n",
        "  File \"a.py\", line 1, in f\n", "ValueError: caught and logged by the program\n",
        "[W socket.cpp:558] [c10d] The client socket has failed to connect to [localhost]:29500 "
        "(errno: 99 - Cannot assign requested address).\n"}) {
    INFO(line);
    CHECK(log.lines(line).empty());
  }
}

TEST_CASE("any bytes at all are read") {
  Log log("/var/log/train/rank0.log");
  std::string noise;
  unsigned state = 1;
  for (int i = 0; i < 200000; ++i) {
    state = state * 1664525 + 1013904223;
    noise += static_cast<char>(state >> 24);
  }
  log.lines(noise, 0);
  log.lines(std::string(70000, 'x'), 0);
  log.lines(std::string("\0\0\r\r\n\n\x1b[", 8), 0);
  const auto found = log.lines("\x1b[31m" + kLost, 0);
  REQUIRE(found.size() == 1);
  CHECK(found[0].line == 0);
}

TEST_CASE("jobs in paths") {
  CHECK(watch::job_of_path("/x/slurm-12.out") == "slurm:12");
  CHECK(watch::job_of_path("slurm-12_3.out") == "slurm:12_3");
  CHECK(watch::job_of_path("/x/slurm-.out").empty());
  CHECK(watch::job_of_path("/slurm-12/a.out").empty());
  CHECK(watch::job_of_path("/x/slurm-_1.out").empty());
}

TEST_CASE("repeats are counted for a while, then told again") {
  watch::Repeats repeats;
  base::TimePoint now{std::chrono::hours(1)};
  CHECK_FALSE(repeats.is_repeat("a", now));
  CHECK(repeats.is_repeat("a", now + base::Millis(9999)));
  CHECK_FALSE(repeats.is_repeat("b", now));
  CHECK_FALSE(repeats.is_repeat("a", now + base::Millis(10000)));
  CHECK(repeats.count() == 1);
  for (int i = 0; i < 10000; ++i) repeats.is_repeat(std::to_string(i), now);
}
