// SPDX-License-Identifier: Apache-2.0
//
// What reports mean: told at once, told after three that agree, or never.
#include "daemon/ras/judge.h"

#include "tests/unit/ras/cases.h"

using namespace collwatch;
using namespace collwatch::ras;
using namespace ras_cases;
using Catch::Matchers::ContainsSubstring;
using model::Fingerprint;

namespace {

class Hearing {
 public:
  explicit Hearing(int world_size = 8) : world_size_(world_size) {}
  std::vector<Finding> hear(const Report& report, int seconds = 30, bool is_last = false) {
    now_ += std::chrono::seconds(seconds);
    return judge_.add(report, world_size_, is_last, now_);
  }
  std::vector<Finding> hear(const std::string& name, int seconds = 30, bool is_last = false) {
    return hear(read_case(name), seconds, is_last);
  }

 private:
  int world_size_;
  Judge judge_;
  base::TimePoint now_{};
};

std::string with(std::string text, const std::string& old, const std::string& fresh) {
  const std::size_t at = text.find(old);
  REQUIRE(at != std::string::npos);
  return text.replace(at, old.size(), fresh);
}

}  // namespace

TEST_CASE("nothing is said of healthy jobs") {
  Hearing hearing;
  for (int i = 0; i < 5; ++i) {
    CHECK(hearing.hear("healthy_2.30.7.json").empty());
    CHECK(hearing.hear("healthy_2.27.7.txt").empty());
  }
}

TEST_CASE("a rank that stands behind is told at the third report, in both formats") {
  for (const char* const name : {"lagging_2.28.9.txt", "lagging_2.30.7.json"}) {
    INFO(name);
    Hearing hearing;
    CHECK(hearing.hear(name).empty());
    CHECK(hearing.hear(name).empty());
    const auto found = hearing.hear(name);
    REQUIRE(found.size() == 1);
    CHECK(found[0].id == Fingerprint::nccl_watchdog_timeout);
    CHECK(found[0].initiating);
    CHECK(found[0].rank == 5);
    CHECK(found[0].host == "127.0.0.2");
    CHECK_THAT(found[0].text, ContainsSubstring("AllReduce 1199 of 1200"));
    CHECK(hearing.hear(name).size() == 1);
  }
}

TEST_CASE("who moves is not stuck, who stands while the others go on is") {
  Hearing moving;
  Hearing left_behind;
  const std::string text = text_of("lagging_2.28.9.txt");
  for (int i = 0; i < 3; ++i) {
    const std::string usual = std::to_string(1200 + 10 * i);
    const std::string late = std::to_string(1199 + 10 * i);
    const std::string ahead = with(text, "operation 1200", "operation " + usual);
    CHECK(moving.hear(read_text(with(ahead, "operation 1199", "operation " + late))).empty());
    CHECK(left_behind.hear(read_text(ahead)).size() == (i == 2 ? 1 : 0));
  }
}

TEST_CASE("reports within five seconds of each other are one, a healthy one begins anew") {
  Hearing hearing;
  CHECK(hearing.hear("lagging_2.30.7.json").empty());
  for (int i = 0; i < 3; ++i) CHECK(hearing.hear("lagging_2.30.7.json", 1).empty());
  CHECK(hearing.hear("healthy_2.30.7.json").empty());
  CHECK(hearing.hear("lagging_2.30.7.json").empty());
  CHECK(hearing.hear("lagging_2.30.7.json").empty());
  CHECK(hearing.hear("lagging_2.30.7.json").size() == 1);
}

TEST_CASE("ahead in one kind and behind in another is another program") {
  Hearing hearing;
  hearing.hear("desync_2.30.7.json");
  hearing.hear("desync_2.30.7.json");
  const auto found = hearing.hear("desync_2.30.7.json");
  REQUIRE(found.size() == 1);
  CHECK(found[0].id == Fingerprint::collective_desync);
  CHECK(found[0].rank == 5);
  CHECK_THAT(found[0].text, ContainsSubstring("AllGather 401 of 400"));
}

TEST_CASE("two camps are named as such, not rank by rank") {
  const auto camps = [](bool lag) {
    Report report = read_case("healthy_2.30.7.json");
    Communicator& world = report.communicators[0];
    for (std::size_t i = 0; i < 4; ++i) world.ranks[i].counts[4] = 1199;
    if (!lag) {
      for (std::size_t i = 4; i < 8; ++i) world.ranks[i].counts[2] = 399;
    }
    world.errors.clear();
    summarise(world, report.operations);
    return report;
  };
  for (const bool lag : {true, false}) {
    Hearing hearing;
    hearing.hear(camps(lag));
    hearing.hear(camps(lag));
    const auto found = hearing.hear(camps(lag));
    REQUIRE(found.size() == 1);
    CHECK(found[0].rank == -1);
    CHECK_FALSE(found[0].initiating);
    CHECK(found[0].id ==
          (lag ? Fingerprint::nccl_watchdog_timeout : Fingerprint::collective_desync));
  }
}

TEST_CASE("an error of its own is where it began, remote errors are its echo") {
  for (const char* const name : {"async_2.30.7.json", "abort_2.28.9.txt"}) {
    INFO(name);
    const auto found = Hearing().hear(name);
    REQUIRE(found.size() == 2);
    for (const Finding& one : found) {
      const bool is_root = one.id == Fingerprint::nccl_system_error;
      CHECK(one.initiating == is_root);
      CHECK(one.rank == (is_root ? 3 : -1));
      if (!is_root) CHECK(one.id == Fingerprint::nccl_remote_error);
    }
  }
  const auto init = Hearing().hear("init_error_2.28.9.txt");
  REQUIRE(init.size() == 1);
  CHECK(init[0].id == Fingerprint::nccl_init_failed);
  CHECK(init[0].rank == 2);
}

TEST_CASE("all but one saw a connection go, so it is that one") {
  Report report = read_case("healthy_2.30.7.json");
  Communicator& world = report.communicators[0];
  for (Rank& rank : world.ranks) rank.async_error = rank.rank == 6 ? 0 : 6;
  summarise(world, report.operations);
  const auto found = Hearing().hear(report);
  REQUIRE(found.size() == 1);
  CHECK(found[0].initiating);
  CHECK(found[0].rank == 6);
}

TEST_CASE("an error that half of them have names nobody") {
  Report report = read_case("healthy_2.30.7.json");
  Communicator& world = report.communicators[0];
  for (Rank& rank : world.ranks) rank.async_error = rank.rank < 5 ? 1 : 0;
  summarise(world, report.operations);
  const auto found = Hearing().hear(report);
  REQUIRE(found.size() == 1);
  CHECK(found[0].id == Fingerprint::cuda_error);
  CHECK_FALSE(found[0].initiating);
  CHECK(found[0].rank == -1);
}

TEST_CASE("the dead are told at once, in both formats, by the job's rank") {
  const auto json = Hearing().hear("dead_2.30.7.json");
  REQUIRE(json.size() == 1);  // one process, in two communicators
  CHECK(json[0].id == Fingerprint::nccl_remote_error);
  CHECK(json[0].rank == 5);
  CHECK_THAT(json[0].text, ContainsSubstring("rank 1 of a communicator of 4"));
  const auto text = Hearing().hear("dead_2.30.7.txt");
  REQUIRE(text.size() == 1);
  CHECK(text[0].rank == 5);
  CHECK(text[0].initiating);
}

TEST_CASE("the missing are told at the third report, or at the last that there will be") {
  for (const char* const name : {"missing_2.30.7.json", "missing_2.28.9.json"}) {
    INFO(name);
    Hearing hearing;
    CHECK(hearing.hear(name).empty());
    CHECK(hearing.hear(name).empty());
    const auto found = hearing.hear(name);
    REQUIRE(found.size() == 1);
    CHECK(found[0].rank == 5);
    CHECK(Hearing().hear(name, 30, true).size() == 1);
  }
  // Of this one the communicator of all is not in the report, so the job's rank is not known.
  const auto lost = Hearing().hear("stopped_2.28.9.txt", 30, true);
  REQUIRE(lost.size() == 1);
  CHECK(lost[0].rank == -1);
  CHECK_THAT(lost[0].text, ContainsSubstring("process 30758 on 127.0.0.2, GPU 1"));
}

TEST_CASE("a communicator that never comes to be names who did not come") {
  Hearing hearing(4);
  CHECK(hearing.hear("init_hides_2.30.7.json").empty());
  CHECK(hearing.hear("init_hides_2.30.7.json").empty());
  const auto found = hearing.hear("init_hides_2.30.7.json");
  REQUIRE(found.size() == 1);
  CHECK(found[0].id == Fingerprint::nccl_init_failed);
  CHECK(found[0].rank == 2);
  CHECK(found[0].initiating);
  Hearing quick(4);
  for (int i = 0; i < 4; ++i) CHECK(quick.hear("init_hides_2.30.7.json", 10).empty());
}

TEST_CASE("of a report that is not complete nothing is concluded") {
  std::string text = text_of("dead_2.30.7.json");
  text.resize(text.size() - 10);
  CHECK(Hearing().hear(read_text(text)).empty());
}
