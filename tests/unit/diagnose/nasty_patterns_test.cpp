// SPDX-License-Identifier: Apache-2.0
//
// Patterns of users' own files that are up to no good, from tests/cases/patterns: each is refused
// with its place, or runs within its allowance, over text made to hurt it, and changes no verdict.
#include <algorithm>
#include <filesystem>

#include "daemon/diagnose/print.h"
#include "tests/support/catch.h"
#include "tests/unit/diagnose/cases.h"

using namespace collwatch;
using namespace collwatch::diagnose;

namespace {

struct Nasty {
  std::string name;
  std::string yaml;
  std::string expected;  ///< how the refusal begins, behind the file's name, or "ok"
};

std::vector<Nasty> nasty() {
  std::vector<Nasty> all;
  for (const auto& entry :
       std::filesystem::directory_iterator(COLLWATCH_SOURCE_DIR "/tests/cases/patterns")) {
    if (entry.path().extension() != ".yaml") continue;
    auto expected = entry.path();
    std::string text = read_file(expected.replace_extension(".expected"));
    text.erase(text.find_last_not_of('\n') + 1);
    all.push_back({entry.path().stem().string(), read_file(entry.path()), text});
  }
  REQUIRE(all.size() >= 18);
  return all;
}

model::Result<catalogue::Catalogue> with(const std::string& yaml) {
  auto catalogue = catalogue::Catalogue::built_in();
  REQUIRE(catalogue);
  if (auto merged = catalogue->merge(yaml, "mine.yaml"); !merged)
    return model::fail(merged.error());
  return catalogue;
}

Engine engine_of(const std::string& yaml, Allowance allowance) {
  auto catalogue = with(yaml);
  REQUIRE(catalogue);
  auto engine = Engine::build(std::move(*catalogue), allowance);
  REQUIRE(engine);
  return std::move(*engine);
}

/// Lines of a and b in no order, one longer than any that is looked at whole, then a failure.
std::string hurting(int lines) {
  std::string text;
  unsigned state = 7;
  for (int line = 0; line < lines; ++line) {
    for (int i = 0; i < (line == 3 ? 40000 : 400); ++i) {
      state = state * 1664525 + 1013904223;
      text += (state >> 24) % 2 == 0 ? 'a' : 'b';
    }
    text += '\n';
  }
  return text + "[rank1]: Traceback (most recent call last):\n[rank1]: ValueError: no\n";
}

std::string told(const Diagnosis& diagnosis) {
  std::string text;
  for (const std::string& one : diagnosis.verdict.missing_evidence) text += one + "\n";
  return text;
}

const char* const kShard = R"(fingerprints:
  - id: data_corruption
    patterns:
      - {id: shard, match: '^E-[0-9]{3}$', role: initiating}
)";
const char* const kShardLog = "step 1\nstep 2\n[rank2]: E-404\n";

}  // namespace

TEST_CASE("a nasty pattern is refused with its place, or taken") {
  for (const Nasty& one : nasty()) {
    INFO(one.name);
    const auto taken = with(one.yaml);
    if (one.expected == "ok") {
      CHECK(taken);
      continue;
    }
    REQUIRE_FALSE(taken);
    INFO(taken.error().text);
    CHECK(taken.error().text.rfind("mine.yaml" + one.expected, 0) == 0);
  }
}

TEST_CASE("a nasty pattern that is taken changes no verdict, on or off") {
  for (const Nasty& one : nasty()) {
    if (one.expected != "ok") continue;
    INFO(one.name);
    for (const auto allowed : {std::chrono::nanoseconds(0), std::chrono::nanoseconds(1000000000)}) {
      const Engine engine = engine_of(one.yaml, {allowed, 0});
      const auto diagnosis = engine.run_text(hurting(40), "job.log");
      REQUIRE(diagnosis);
      INFO(essence(*diagnosis).first);
      CHECK(essence(*diagnosis) ==
            std::make_pair(std::string("worker_exit"), std::optional<int>(1)));
      if (allowed.count() == 0) {
        CHECK(told(*diagnosis)
                  .find("too slow to be tried on all lines: nasty (mine.yaml:4) after "
                        "job.log:1") != std::string::npos);
      }
    }
  }
}

TEST_CASE(
    "a pattern within its allowance speaks, one beyond it is switched off, and that is told") {
  const auto fine = engine_of(kShard, {}).run_text(kShardLog, "job.log");
  REQUIRE(fine);
  CHECK(essence(*fine).first == "data_corruption");
  CHECK(told(*fine).find("too slow") == std::string::npos);
  const auto off =
      engine_of(kShard, {std::chrono::nanoseconds(0), 0}).run_text(kShardLog, "job.log");
  REQUIRE(off);
  CHECK(essence(*off).first == "none");
  CHECK(told(*off).find("shard (mine.yaml:4) after job.log:1; a word of eight") !=
        std::string::npos);
  CHECK(to_json(*off).find("too slow to be tried") != std::string::npos);
  CHECK(to_text(*off, engine().catalogue(), false).find("too slow") != std::string::npos);
}

TEST_CASE("what is built in is never switched off, whatever is allowed") {
  auto catalogue = catalogue::Catalogue::built_in();
  REQUIRE(catalogue);
  const auto strict = Engine::build(std::move(*catalogue), {std::chrono::nanoseconds(0), 0});
  REQUIRE(strict);
  const auto diagnosis = strict->run_text(hurting(2), "job.log");
  REQUIRE(diagnosis);
  CHECK(essence(*diagnosis).first == "worker_exit");
  CHECK(told(*diagnosis).find("too slow") == std::string::npos);
}

TEST_CASE("the dearest patterns go first, cheap ones stay, and reading more allows more") {
  using std::chrono::nanoseconds;
  const auto catalogue = with(R"(fingerprints:
  - id: straggler
    patterns:
      - {id: dear, match: '[ab]{9}'}
      - {id: as_dear, match: '[ab]{8}'}
      - {id: cheap, match: '[ab]{7}'}
)");
  REQUIRE(catalogue);
  const auto patterns = Patterns::build(*catalogue);
  REQUIRE(patterns);
  const std::vector<int>& ours = patterns->matcher().unfiltered();
  REQUIRE(ours.size() == 3);
  Budget budget(*patterns, {nanoseconds(8000), 8.0});
  budget.read(1000);  // 16000 ns in all
  budget.charge(ours[0], nanoseconds(900), {0, 1});
  budget.charge(ours[1], nanoseconds(800), {0, 2});
  budget.charge(ours[2], nanoseconds(300), {0, 3});
  CHECK(budget.stopped().empty());
  budget.charge(ours[2], nanoseconds(1), {0, 4});
  REQUIRE(budget.stopped().size() == 2);
  CHECK(budget.is_off(ours[0]));
  CHECK(budget.is_off(ours[1]));
  CHECK_FALSE(budget.is_off(ours[2]));
  CHECK(budget.tries_every_line());
  budget.read(1000);
  budget.charge(ours[2], nanoseconds(2600), {0, 5});
  CHECK(budget.tries_every_line());
  budget.charge(ours[2], nanoseconds(200), {0, 6});
  CHECK_FALSE(budget.tries_every_line());
}
