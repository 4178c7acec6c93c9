// SPDX-License-Identifier: Apache-2.0
//
// Against a made-up /proc with exact numbers, and against the real one.
#include "exporters/prometheus/process_metrics.h"

#include <unistd.h>

#include <cstdlib>
#include <ctime>
#include <filesystem>
#include <fstream>
#include <string>

#include "tests/support/catch.h"

using collwatch::exporters::read_process_metrics;

TEST_CASE("a process whose name holds brackets and spaces is read right") {
  char root[] = "/tmp/collwatch-proc-XXXXXX";
  REQUIRE(mkdtemp(root) != nullptr);
  const std::string self = std::string(root) + "/self";
  std::filesystem::create_directories(self + "/fd");
  for (const char* fd : {"0", "1", "2", "9"}) std::ofstream(self + "/fd/" + fd);
  const long ticks = sysconf(_SC_CLK_TCK);
  std::ofstream(self + "/stat") << "4711 (coll) watch d) S 1 2 3 4 5 6 7 8 9 10 " << 2 * ticks
                                << " " << ticks << " 0 0 20 0 5 0 " << 100 * ticks
                                << " 123456 50 18446744073709551615 1 1\n";
  std::ofstream(self + "/limits") << "Limit  Soft\nMax open files            256  512  files\n";
  std::ofstream(std::string(root) + "/stat") << "cpu 1 2\nbtime 1700000000\n";

  const auto metrics = read_process_metrics(root);
  REQUIRE(metrics);
  CHECK(metrics->cpu_seconds == Approx(3));
  CHECK(metrics->threads == 5);
  CHECK(metrics->start_time_seconds == Approx(1700000100));
  CHECK(metrics->resident_bytes == 50.0 * static_cast<double>(sysconf(_SC_PAGESIZE)));
  CHECK(metrics->open_fds == 3);  // one of the four is the walk's own
  CHECK(metrics->max_fds == 256);
  std::filesystem::remove_all(root);
}

TEST_CASE("no /proc, or nonsense in it, is nothing rather than zeros") {
  CHECK_FALSE(read_process_metrics("/nonexistent"));
  char root[] = "/tmp/collwatch-proc-XXXXXX";
  REQUIRE(mkdtemp(root) != nullptr);
  std::filesystem::create_directories(std::string(root) + "/self");
  std::ofstream(std::string(root) + "/self/stat") << "1 (x) S 1 2\n";
  CHECK_FALSE(read_process_metrics(root));
  std::filesystem::remove_all(root);
}

TEST_CASE("this very process has a life") {
  const auto metrics = read_process_metrics();
  REQUIRE(metrics);
  CHECK(metrics->resident_bytes > 1e5);
  CHECK(metrics->open_fds >= 3);
  CHECK(metrics->threads >= 1);
  CHECK(metrics->start_time_seconds > 1.6e9);
  CHECK(metrics->start_time_seconds <= static_cast<double>(std::time(nullptr)) + 2);
}
