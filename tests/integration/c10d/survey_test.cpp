// SPDX-License-Identifier: Apache-2.0
//
// The whole survey over a stand-in of the library: everything is told, in order, and a crash of one
// try is that try's.
#include "probes/c10d/survey.h"

#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "tests/support/catch.h"

using namespace collwatch;
using namespace collwatch::c10d_probe;
using wire::C10dEnd;

namespace {

Subject stand_in() {
  Subject subject;
  subject.version = [] { return std::string("9.8.7"); };
  subject.device = [](const std::string& device) {
    return device == "cuda" ? Ending{C10dEnd::unavailable, "no CUDA"} : Ending{};
  };
  subject.operation = [](const Combination& what, int rank, const std::string&,
                         milliseconds) -> Ending {
    if (what.op == "reduce_scatter_tensor" && what.reduce_op == "MAX") {
      return {C10dEnd::wrong_values, "that is SUM"};
    }
    if (what.op == "all_gather_coalesced" && rank == 0) {
      std::signal(SIGSEGV, SIG_DFL);
      std::raise(SIGSEGV);
    }
    return {};
  };
  subject.tcp_store = [](int rank, const Between& between, milliseconds) -> Ending {
    if (rank == 0) between.tell("80");
    return rank == 0 || between.hear() == "80" ? Ending{} : Ending{C10dEnd::refused, ""};
  };
  subject.file_store = [](int, const std::string& path, milliseconds) -> Ending {
    std::ofstream(path, std::ios::app) << "x";
    return {};
  };
  return subject;
}

wire::C10dReport surveyed(const SurveyPlan& plan) {
  wire::C10dReport report;
  survey(stand_in(), plan, [&report](const wire::FromC10d& message) { collect(message, report); });
  return report;
}

}  // namespace

TEST_CASE("a survey tells every combination once, each with its own end") {
  SurveyPlan plan;
  plan.devices = {"meta", "cuda"};
  const wire::C10dReport report = surveyed(plan);
  CHECK(report.versions.torch == "9.8.7");
  CHECK(report.cells.size() == combinations("meta").size() + 1);
  const auto end_of = [&report](const std::string& op) {
    const auto found = std::find_if(report.cells.begin(), report.cells.end(),
                                    [&op](const wire::C10dCell& cell) { return cell.op == op; });
    REQUIRE(found != report.cells.end());
    return found->end;
  };
  CHECK(end_of("all_gather_coalesced") == C10dEnd::crash);
  CHECK(end_of("all_gather") == C10dEnd::ok);
  CHECK(end_of("broadcast") == C10dEnd::ok);
  CHECK(report.cells.back().device == "cuda");
  CHECK(report.cells.back().end == C10dEnd::unavailable);
  CHECK(report.cells.back().text == "no CUDA");
  CHECK(report.done.rss_kb > 0);
}

TEST_CASE("a survey that is stopped tells no end and leaves nothing behind") {
  SurveyPlan plan;
  plan.devices = {"cpu", "meta"};
  int asked = 0;
  plan.is_stopped = [&asked] { return ++asked > 3; };
  const wire::C10dReport report = surveyed(plan);
  CHECK(report.cells.size() == 3);
  CHECK(report.done.rss_kb == 0);
}

TEST_CASE("wrong values are found where the ReduceOp is not the sum") {
  SurveyPlan plan;
  plan.devices = {"cpu"};
  int wrong = 0;
  for (const wire::C10dCell& cell : surveyed(plan).cells) {
    if (cell.end != C10dEnd::wrong_values) continue;
    CHECK(cell.op == "reduce_scatter_tensor");
    CHECK(cell.reduce_op == "MAX");
    ++wrong;
  }
  CHECK(wrong == 2);  // float32 and int32
}

TEST_CASE("a path that jobs use is told to be stale, tried beside, and left as it was") {
  std::string folder = std::filesystem::temp_directory_path() / "collwatch-test-XXXXXX";
  REQUIRE(::mkdtemp(folder.data()) != nullptr);
  SurveyPlan plan;
  plan.devices = {};
  plan.file_store = folder + "/store";
  const auto stores = [&plan] { return surveyed(plan).stores; };
  REQUIRE(stores().size() == 3);
  for (const wire::C10dStore& store : stores()) CHECK(store.end == C10dEnd::ok);
  std::ofstream(plan.file_store) << "init/";
  const auto stale = stores();
  REQUIRE(stale.size() == 4);
  CHECK(stale[2].end == C10dEnd::refused);
  CHECK(std::filesystem::file_size(plan.file_store) == 5);
  int left = 0;
  for (const auto& entry : std::filesystem::directory_iterator(folder)) {
    (void)entry;
    ++left;
  }
  CHECK(left == 1);
  std::filesystem::remove_all(folder);
}

TEST_CASE("what was late once is tried again before it is believed") {
  std::string folder = std::filesystem::temp_directory_path() / "collwatch-test-XXXXXX";
  REQUIRE(::mkdtemp(folder.data()) != nullptr);
  Subject subject = stand_in();
  subject.operation = [&folder](const Combination& what, int rank, const std::string&,
                                milliseconds) -> Ending {
    if (what.op == "gather") return {C10dEnd::refused, "Timed out waiting"};
    if (what.op != "broadcast" || rank != 0) return {};
    const std::string mark = folder + "/tried";
    if (std::filesystem::exists(mark)) return {};
    std::ofstream(mark) << "x";
    return {C10dEnd::refused, "Timed out waiting"};
  };
  SurveyPlan plan;
  plan.devices = {"meta"};
  wire::C10dReport report;
  survey(subject, plan, [&report](const wire::FromC10d& message) { collect(message, report); });
  for (const wire::C10dCell& cell : report.cells) {
    CHECK(cell.end == (cell.op == "gather" ? C10dEnd::refused : C10dEnd::ok));
  }
  CHECK(std::filesystem::exists(folder + "/tried"));
  std::filesystem::remove_all(folder);
}
