// SPDX-License-Identifier: Apache-2.0
//
// A user's file of fingerprints in the engine: its patterns speak, and whatever they are, reading
// ends and memory stays bounded.
#include <unistd.h>

#include <cstdio>
#include <random>

#include "tests/support/catch.h"
#include "tests/unit/diagnose/cases.h"

using namespace collwatch;
using namespace collwatch::diagnose;

namespace {

long resident_mib() {
  long pages = 0;
  std::FILE* const file = std::fopen("/proc/self/statm", "r");
  REQUIRE(file != nullptr);
  const int got = std::fscanf(file, "%*d %ld", &pages);
  std::fclose(file);
  REQUIRE(got == 1);
  return pages * sysconf(_SC_PAGESIZE) >> 20;
}

model::Result<Engine> engine_with(const std::string& yaml) {
  auto catalogue = catalogue::Catalogue::built_in();
  REQUIRE(catalogue);
  const auto merged = catalogue->merge(yaml, "mine.yaml");
  INFO((merged ? "" : merged.error().text));
  REQUIRE(merged);
  return Engine::build(std::move(*catalogue));
}

}  // namespace

TEST_CASE("a user's pattern speaks, also one without a word to search for") {
  const auto mine = engine_with(R"(fingerprints:
  - id: data_corruption
    patterns:
      - {id: ours_word, match: 'checksum of shard (?P<shard>\d+) differs', role: initiating}
      - {id: ours_digits, match: '^E-[0-9]{3}$', role: initiating}
)");
  REQUIRE(mine);
  for (const char* line : {"[rank2]: checksum of shard 7 differs", "[rank2]: E-404"}) {
    const auto diagnosis = mine->run_text(std::string("step 1\n") + line + "\n", "job.log");
    REQUIRE(diagnosis);
    CHECK(essence(*diagnosis) ==
          std::make_pair(std::string("data_corruption"), std::optional<int>(2)));
  }
}

TEST_CASE("fifteen hundred patterns of the worst kind stay in bounded memory, and reading ends") {
  // Each has an automaton of 2^12 states and more, and none a word to search for.
  std::string yaml = "fingerprints:\n  - id: straggler\n    patterns:\n";
  for (int i = 0; i < 1500; ++i) {
    yaml += "      - {id: worst_" + std::to_string(i) + ", match: '[ab]*a[ab]{" +
            std::to_string(12 + i % 5) + "}[cd]'}\n";
  }
  const long before = resident_mib();
  const auto worst = engine_with(yaml);
  REQUIRE(worst);
  std::mt19937 random(3);
  std::string text;
  for (int line = 0; line < 6; ++line) {
    for (int i = 0; i < 1500; ++i) text += (random() & 1U) != 0 ? 'a' : 'b';
    text += '\n';
  }
  text += "[rank1]: Traceback (most recent call last):\n[rank1]: ValueError: no\n";
  const auto diagnosis = worst->run_text(text, "job.log");
  REQUIRE(diagnosis);
  CHECK(essence(*diagnosis) == std::make_pair(std::string("worker_exit"), std::optional<int>(1)));
#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
  CHECK(resident_mib() - before < 300);
#endif
}

TEST_CASE("more patterns than the catalogue takes are refused as a whole") {
  std::string yaml = "fingerprints:\n  - id: straggler\n    patterns:\n";
  for (int i = 0; i < 1990; ++i)
    yaml += "      - {id: many_" + std::to_string(i) + ", match: 'word number " +
            std::to_string(i) + "'}\n";
  auto catalogue = catalogue::Catalogue::built_in();
  REQUIRE(catalogue);
  const std::size_t before = catalogue->patterns().size();
  const auto merged = catalogue->merge(yaml, "mine.yaml");
  REQUIRE_FALSE(merged);
  CHECK(merged.error().text.find("mine.yaml: ") == 0);
  CHECK(merged.error().text.find("at most 2000") != std::string::npos);
  CHECK(catalogue->patterns().size() == before);
}
