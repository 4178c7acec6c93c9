// SPDX-License-Identifier: Apache-2.0
//
// The shipped unit file is checked by systemd's own reader: no unknown key, no bad value. The
// programs it names are replaced, since they need not be installed where the tests run.
#include <stdlib.h>

#include <array>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>

#include "tests/support/catch.h"

namespace {

std::string read_unit() {
  std::ifstream file(COLLWATCH_SOURCE_DIR "/deploy/systemd/collwatchd.service");
  return {std::istreambuf_iterator<char>(file), {}};
}

std::string replaced(std::string text, const std::string& from, const std::string& to) {
  const auto at = text.find(from);
  REQUIRE(at != std::string::npos);
  return text.replace(at, from.size(), to);
}

/// What `systemd-analyze verify` has to say about this unit text; empty = nothing.
std::string complaints(const std::string& unit) {
  std::string folder = "/tmp/collwatch-unit-XXXXXX";
  REQUIRE(mkdtemp(folder.data()) != nullptr);
  const std::string file = folder + "/collwatchd.service";
  std::ofstream(file) << unit;
  FILE* pipe = popen(
      ("systemd-analyze --man=no --recursive-errors=no verify " + file + " 2>&1").c_str(), "r");
  REQUIRE(pipe != nullptr);
  std::string output;
  std::array<char, 512> line{};
  while (fgets(line.data(), line.size(), pipe) != nullptr) {
    // The rest of this machine's units is not our business.
    if (std::string(line.data()).find("collwatchd.service") != std::string::npos) {
      output += line.data();
    }
  }
  pclose(pipe);
  std::filesystem::remove_all(folder);
  return output;
}

}  // namespace

TEST_CASE("systemd finds nothing to complain about in the unit file") {
  if (std::system("systemd-analyze --version >/dev/null 2>&1") != 0) {
    WARN("SKIPPED: systemd-analyze is not installed");
    return;
  }
  const std::string unit = replaced(read_unit(), "/usr/bin/collwatchd", "/bin/true");
  CHECK(complaints(unit) == "");
  // The check itself can fail:
  CHECK(complaints(replaced(unit, "WatchdogSec=10", "WatchdogSecs=10")) != "");
  CHECK(complaints(replaced(unit, "/bin/true", "/nonexistent/collwatchd")) != "");
}

TEST_CASE("the unit keeps the promises that the daemon relies on") {
  const std::string unit = read_unit();
  for (const char* line : {"\nType=notify\n", "\nWatchdogSec=10\n", "\nRestart=on-failure\n",
                           "\nRestartPreventExitStatus=2\n", "\nKillMode=mixed\n",
                           "\nUser=collwatch\n", "\nOOMPolicy=continue\n"}) {
    INFO(line);
    CHECK(unit.find(line) != std::string::npos);
  }
}
