// SPDX-License-Identifier: Apache-2.0
//
// What is said when there is one rank's log and no other: the class where that log can show it,
// else an honest echo; and in any case which log to fetch next.
#include <algorithm>
#include <cstdlib>
#include <iostream>
#include <set>

#include "tests/support/catch.h"
#include "tests/unit/diagnose/cases.h"

using namespace collwatch;
using namespace collwatch::diagnose;

namespace {

struct Alone {
  const Case* of = nullptr;
  std::string file;
  std::string text;
  int rank = 0;
};

const std::vector<Case>& all_cases() {
  static const std::vector<Case> all = cases();
  return all;
}

/// Each file of one rank in the cases that have several.
std::vector<Alone> logs_alone() {
  std::vector<Alone> found;
  for (const Case& one : all_cases()) {
    std::vector<Alone> of_case;
    for (const auto& entry : std::filesystem::recursive_directory_iterator(one.logs)) {
      if (!entry.is_regular_file()) continue;
      const auto hint = logs::hint_from_path(entry.path().string());
      const auto rank = hint.rank ? hint.rank : hint.local_rank;
      if (rank)
        of_case.push_back({&one, entry.path().string(), read_file(entry.path().string()), *rank});
    }
    if (of_case.size() > 1) found.insert(found.end(), of_case.begin(), of_case.end());
  }
  std::sort(found.begin(), found.end(),
            [](const Alone& a, const Alone& b) { return a.file < b.file; });
  return found;
}

/// Classes that tell of somebody else: all that a bystander's log can say.
bool is_echo(const std::string& fingerprint) {
  static const std::set<std::string> kEchoes = {
      "gloo_collective_timeout", "gloo_peer_lost",    "gloo_init_failed",  "store_timeout",
      "store_unreachable",       "straggler",         "nccl_remote_error", "nccl_watchdog_timeout",
      "file_store_not_shared",   "nccl_socket_error", "nccl_system_error", "gloo_wrong_interface",
      "collective_desync",       "nccl_ib_error"};
  return kEchoes.count(fingerprint) != 0;
}

bool names_rank(const std::string& text, int rank) {
  const std::string number = std::to_string(rank);
  for (std::size_t at = text.find(number); at != std::string::npos;
       at = text.find(number, at + 1)) {
    const auto is_digit = [&](std::size_t i) {
      return i < text.size() && text[i] >= '0' && text[i] <= '9';
    };
    if ((at == 0 || !is_digit(at - 1)) && !is_digit(at + number.size())) return true;
  }
  return false;
}

std::string joined(const std::vector<std::string>& texts) {
  std::string all;
  for (const std::string& text : texts) all += text + " | ";
  return all;
}

}  // namespace

TEST_CASE("one rank's log alone gives the class, or an echo and the log that would tell") {
  const auto alone = logs_alone();
  REQUIRE(alone.size() >= 50);
  int right = 0;
  int failures = 0;
  int to_the_culprit = 0;
  int with_culprit = 0;
  for (const Alone& one : alone) {
    const Diagnosis diagnosis = diagnose_paths({one.file});
    const auto [fingerprint, rank] = essence(diagnosis);
    const Verdict& verdict = diagnosis.verdict;
    INFO(one.of->name << ", rank " << one.rank << " alone: " << fingerprint << ", rank "
                      << rank.value_or(-1) << " (" << model::name(verdict.confidence)
                      << "), missing " << joined(verdict.missing_evidence) << " next "
                      << verdict.next_action);
    const auto& accept = one.of->accept;
    const bool is_right = std::count(accept.begin(), accept.end(), fingerprint) > 0;
    if (fingerprint == "none") {
      // A rank that was killed, never joined or only slept says nothing: no verdict is honest, and
      // the advice is to bring the others.
      if (!one.of->completed)
        CHECK(verdict.next_action.find("logs of all ranks") != std::string::npos);
      continue;
    }
    ++failures;
    right += is_right ? 1 : 0;
    CHECK((is_right || is_echo(fingerprint)));
    // Nobody is accused with certainty on one witness's word about others.
    const bool is_own = rank == one.rank;
    if (one.of->rank && rank && rank != one.of->rank)
      CHECK(verdict.confidence != model::Confidence::high);
    if (is_own && is_right) continue;
    CHECK_FALSE(verdict.missing_evidence.empty());
    CHECK(verdict.next_action.find("log") != std::string::npos);
    if (!one.of->rank || one.of->rank == one.rank) continue;
    ++with_culprit;
    const std::string asked = joined(verdict.missing_evidence);
    const bool leads = names_rank(asked, *one.of->rank) ||
                       asked.find("other ranks") != std::string::npos ||
                       asked.find("names the faulty rank") != std::string::npos;
    CHECK(leads);
    to_the_culprit += names_rank(asked, *one.of->rank) ? 1 : 0;
  }
  std::cout << "one log alone: class right in " << right << " of " << failures
            << ", culprit's log asked for by number in " << to_the_culprit << " of " << with_culprit
            << "\n";
  CHECK(right * 100 >= failures * 70);
}
