// SPDX-License-Identifier: Apache-2.0
//
// Pickles as Python itself writes them, in every protocol that we read, and one that would run a
// command in a reader that trusts it.
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <iostream>
#include <string>

#include "daemon/flight/dump.h"
#include "tests/support/catch.h"

using namespace collwatch;
namespace fs = std::filesystem;

namespace {

/// What the program prints; empty where there is no python3.
std::string python(const std::string& program) {
  std::string out;
  FILE* pipe = popen(("python3 -c '" + program + "' 2>/dev/null").c_str(), "re");
  REQUIRE(pipe != nullptr);
  char room[4096];
  for (std::size_t got = 0; (got = fread(room, 1, sizeof room, pipe)) > 0;) out.append(room, got);
  pclose(pipe);
  return out;
}

constexpr const char* kDump =
    "{\"version\": \"2.4\", \"nccl_version\": \"2.21.5\", \"pg_config\": {\"0\": {\"name\": \"0\", "
    "\"desc\": \"default_pg\", \"ranks\": \"[0, 1]\"}}, \"entries\": [{\"record_id\": 0, "
    "\"pg_id\": 0, \"process_group\": (\"0\", \"default_pg\"), \"collective_seq_id\": 1, "
    "\"profiling_name\": \"nccl:all_reduce\", \"time_created_ns\": 1700000000000000000, "
    "\"duration_ms\": 1.5, \"input_sizes\": [[3, 4]], \"output_sizes\": [[3, 4]], "
    "\"input_dtypes\": [\"Float\"], \"output_dtypes\": [\"Float\"], \"state\": \"started\", "
    "\"retired\": False, \"big\": 1 << 80, \"none\": None, \"nothing\": ()}]}";

}  // namespace

TEST_CASE("python: pickles of protocol 2 to 5 are read") {
  for (int protocol = 2; protocol <= 5; ++protocol) {
    const std::string bytes =
        python(std::string("import pickle, sys; sys.stdout.buffer.write(pickle.dumps(") + kDump +
               ", " + std::to_string(protocol) + "))");
    if (bytes.empty()) {
      std::cout << "SKIPPED: no python3\n";
      return;
    }
    flight::Words words;
    const auto dump = flight::read_dump(bytes, words);
    INFO(protocol);
    if (!dump) std::cerr << dump.error().text << "\n";
    REQUIRE(dump);
    REQUIRE(dump->entries.size() == 1);
    CHECK(words.text(dump->entries[0].op) == "nccl:all_reduce");
    CHECK(dump->entries[0].input_total == 12);
    CHECK(words.text(dump->groups[0].members) == "[0, 1]");
  }
}

TEST_CASE("python: a pickle that would run a command is refused, and nothing runs") {
  const fs::path mark =
      fs::temp_directory_path() / ("collwatch-flight-" + std::to_string(getpid()));
  for (int protocol = 2; protocol <= 5; ++protocol) {
    const std::string bytes = python(
        "import pickle, sys, os\nclass E:\n  def __reduce__(self): return (os.system, (\"touch " +
        mark.string() + "\",))\nsys.stdout.buffer.write(pickle.dumps({\"version\": \"2.4\", " +
        "\"entries\": [E()]}, " + std::to_string(protocol) + "))");
    if (bytes.empty()) {
      std::cout << "SKIPPED: no python3\n";
      return;
    }
    flight::Words words;
    const auto dump = flight::read_dump(bytes, words);
    REQUIRE_FALSE(dump);
    CHECK(dump.error().text.find("would make the reader load or run code: refused") !=
          std::string::npos);
    CHECK_FALSE(fs::exists(mark));
  }
}
