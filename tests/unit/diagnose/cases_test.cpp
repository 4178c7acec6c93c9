// SPDX-License-Identifier: Apache-2.0
//
// Logs of real jobs (and some written after the texts of NCCL, which needs GPUs) with known truth:
// the class and the initiating rank must be right on all of them.
#include "tests/unit/diagnose/cases.h"

#include <algorithm>

#include "tests/support/catch.h"

using namespace collwatch;
using namespace collwatch::diagnose;

TEST_CASE("every case has the right class and the right rank") {
  const auto all = cases();
  REQUIRE(all.size() >= 20);
  for (const Case& one : all) {
    INFO(one.name);
    const Diagnosis diagnosis = diagnose_paths({one.logs.string()});
    const auto [fingerprint, rank] = essence(diagnosis);
    INFO("verdict " << fingerprint << ", rank " << rank.value_or(-1));
    CHECK(std::count(one.accept.begin(), one.accept.end(), fingerprint) > 0);
    if (one.rank) CHECK(rank == one.rank);
  }
}

TEST_CASE("a verdict cites lines that exist") {
  for (const Case& one : cases()) {
    INFO(one.name);
    const Diagnosis diagnosis = diagnose_paths({one.logs.string()});
    for (const Finding& finding : diagnosis.findings) {
      const std::string text = read_file(finding.file);
      CHECK(finding.line >= 1);
      CHECK(finding.line <= std::count(text.begin(), text.end(), '\n') + 1);
    }
    if (diagnosis.verdict.fingerprint == model::Fingerprint::none) continue;
    CHECK_FALSE(diagnosis.verdict.why.empty());
    CHECK_FALSE(diagnosis.verdict.root_cause.empty());
    CHECK_FALSE(diagnosis.verdict.next_action.empty());
    CHECK_FALSE(diagnosis.findings.empty());
  }
}
