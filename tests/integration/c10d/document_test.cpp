// SPDX-License-Identifier: Apache-2.0
//
// docs/c10d-<version>.md is what the command prints, on a machine that has that libtorch.
#include <unistd.h>

#include <array>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>

#include "tests/support/catch.h"

namespace {

/// Standard output of a shell command, and its exit status.
std::string output_of(const std::string& command, int& status) {
  std::string text;
  FILE* pipe = ::popen(command.c_str(), "r");
  REQUIRE(pipe != nullptr);
  std::array<char, 4096> buffer{};
  for (;;) {
    const std::size_t got = std::fread(buffer.data(), 1, buffer.size(), pipe);
    if (got == 0) break;
    text.append(buffer.data(), got);
  }
  status = ::pclose(pipe);
  return text;
}

}  // namespace

TEST_CASE("the committed table is what the probe measures here") {
  const std::string program = std::string(COLLWATCH_BINARY_DIR) + "/collwatch-probe-c10d";
  if (!std::filesystem::exists(program)) {
    WARN("SKIPPED: collwatch-probe-c10d was not built (no libtorch)");
    return;
  }
  int status = 0;
  const std::string version = output_of(program + " --version", status);
  REQUIRE(status == 0);
  const std::string mark = "libtorch ";
  const std::string torch = version.substr(version.find(mark) + mark.size());
  const std::string minor = torch.substr(0, torch.find('.', torch.find('.') + 1));
  const std::string path = std::string(COLLWATCH_SOURCE_DIR) + "/docs/c10d-" + minor + ".md";
  std::ifstream file(path);
  if (!file) {
    WARN("SKIPPED: there is no docs/c10d-" + minor + ".md for the libtorch of this machine");
    return;
  }
  const std::string committed{std::istreambuf_iterator<char>(file), {}};
  if (committed.find("# ProcessGroupGloo of libtorch " + torch.substr(0, torch.find('\n')) +
                     "\n") != 0) {
    WARN("SKIPPED: docs/c10d-" + minor + ".md is of another patch of libtorch");
    return;
  }
  // Under ASan a crash of libtorch would be an exit; elsewhere the variable means nothing.
  const std::string measured =
      output_of("ASAN_OPTIONS=handle_segv=0 " + program + " --markdown", status);
  CHECK(status == 0);
  CHECK(measured == committed);
}
