// SPDX-License-Identifier: Apache-2.0
//
// Which of the ranks that end is told.
#include "daemon/processes/exit_story.h"

#include "tests/support/catch.h"

using namespace collwatch::processes;
using namespace std::chrono_literals;

namespace {

constexpr TimePoint kStart = TimePoint(100s);
constexpr int kKilled = 9;
constexpr int kTerminated = 15;
constexpr int kFailed = 1 << 8;

Exit exit_of(int rank, std::optional<int> status, const std::string& job = "slurm:17") {
  return {100 + rank, job, "train.py", rank, status};
}

}  // namespace

TEST_CASE("the first rank that fails is told, what follows within a minute is its echo") {
  ExitStory story;
  const auto first = story.add({exit_of(1, kKilled)}, kStart);
  REQUIRE(first.size() == 1);
  CHECK(first[0].rank == 1);
  CHECK(first[0].text == "rank 1 ended by signal 9 (Killed), the first of slurm:17 here");
  CHECK(first[0].evidence ==
        std::vector<std::string>{"rank 1, pid 101, train.py: ended by signal 9 (Killed)"});
  CHECK(story.add({exit_of(0, kFailed), exit_of(2, kTerminated)}, kStart + 2s).empty());
  CHECK(story.add({exit_of(3, kFailed, "slurm:18")}, kStart + 3s).size() == 1);
  CHECK(story.add({exit_of(0, kFailed)}, kStart + 90s).size() == 1);
}

TEST_CASE("in one batch a signal outweighs a code; several of a kind are told together") {
  ExitStory one;
  const auto named =
      one.add({exit_of(0, kFailed), exit_of(1, kKilled), exit_of(2, kFailed)}, kStart);
  REQUIRE(named.size() == 1);
  CHECK(named[0].rank == 1);
  ExitStory two;
  const auto together = two.add({exit_of(0, kKilled), exit_of(1, kKilled)}, kStart);
  REQUIRE(together.size() == 1);
  CHECK_FALSE(together[0].rank.has_value());
  CHECK(together[0].evidence.size() == 2);
}

TEST_CASE("whoever succeeds, is asked to end, or ends nobody knows how, accuses nobody") {
  ExitStory story;
  CHECK(story.add({exit_of(0, 0), exit_of(1, 0)}, kStart).empty());
  // A success is no beginning of a failure.
  CHECK(story.add({exit_of(2, kFailed)}, kStart + 1s).size() == 1);
  ExitStory cancelled;
  CHECK(cancelled.add({exit_of(0, kTerminated)}, kStart).empty());
  CHECK(cancelled.add({exit_of(1, kKilled)}, kStart + 10s).empty());
  ExitStory unknown;
  CHECK(unknown.add({exit_of(1, std::nullopt), exit_of(0, kFailed)}, kStart).empty());
  CHECK(unknown.add({exit_of(2, kFailed)}, kStart + 1s).empty());
}
