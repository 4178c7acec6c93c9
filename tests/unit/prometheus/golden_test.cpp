// SPDX-License-Identifier: Apache-2.0
//
// The whole /metrics page of one Snapshot, reviewed as a page, and linted by Prometheus' own tool.
// After a change that is meant, write it anew and read the difference:
//   COLLWATCH_UPDATE_GOLDEN=1 ctest --preset dev -R golden
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <iostream>
#include <sstream>
#include <string>

#include "exporters/prometheus/render.h"
#include "tests/golden/sample_snapshot.h"
#include "tests/support/catch.h"

using namespace collwatch;

namespace {

std::string golden_page() {
  return exporters::render(
      test::sample_snapshot(),
      {0.5, exporters::ProcessMetrics{12.5, 16777216, 42, 1024, 3, 1700000000}});
}

std::string read_file(const std::string& path) {
  std::ifstream in(path);
  std::ostringstream out;
  out << in.rdbuf();
  return out.str();
}

}  // namespace

TEST_CASE("golden: the page of the sample snapshot is tests/golden/metrics.txt") {
  const std::string path = std::string(COLLWATCH_SOURCE_DIR) + "/tests/golden/metrics.txt";
  const std::string page = golden_page();
  if (std::getenv("COLLWATCH_UPDATE_GOLDEN") != nullptr) {
    std::ofstream(path) << page;
    WARN("wrote " << path);
    return;
  }
  std::istringstream now(page);
  std::istringstream kept(read_file(path));
  std::string now_line;
  std::string kept_line;
  while (std::getline(kept, kept_line)) {
    const bool more = static_cast<bool>(std::getline(now, now_line));
    REQUIRE((more ? now_line : "(the page ends)") == kept_line);
  }
  const bool longer = static_cast<bool>(std::getline(now, now_line));
  CHECK_FALSE(longer);
}

TEST_CASE("golden: promtool check metrics finds nothing to say about the page") {
  if (std::system("command -v promtool >/dev/null 2>&1") != 0) {
    std::cout << "SKIPPED: promtool is not installed (package prometheus, or promtool)\n";
    return;
  }
  FILE* promtool = popen("promtool check metrics 2>&1", "w");
  REQUIRE(promtool != nullptr);
  const std::string page = golden_page();
  CHECK(std::fwrite(page.data(), 1, page.size(), promtool) == page.size());
  CHECK(pclose(promtool) == 0);  // 1: unreadable, 3: lint
}
