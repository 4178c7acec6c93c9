// SPDX-License-Identifier: Apache-2.0
//
// What a rule concludes about a job. Each rule looks for one kind of story and stays silent where
// it does not find it; the rules are asked in order, and the first that speaks is the verdict. Pure
// functions over Job.
#pragma once

#include <optional>
#include <set>
#include <string>
#include <vector>

#include "daemon/diagnose/job.h"

namespace collwatch::diagnose {

struct Judgement {
  model::Fingerprint fingerprint = model::Fingerprint::none;
  model::Confidence confidence = model::Confidence::medium;
  std::optional<int> rank;  ///< the initiating one
  std::optional<int> group_rank;
  std::string host;
  const Event* event = nullptr;  ///< what shows it, where a line does
  Place place;                   ///< the same where it is no event: an exit, a last line
  std::string cause;             ///< one sentence
  std::vector<std::string> why;  ///< plain sentences, each with its place
  std::vector<std::string> missing;
  std::string next;  ///< what to do first, where the rule knows better than "look at the line"
};

using Judge = std::optional<Judgement> (*)(const Job&);

// In the order in which they are asked.
std::optional<Judgement> judge_cancelled(const Job& job);
std::optional<Judgement> judge_host(const Job& job);
std::optional<Judgement> judge_own_error(const Job& job);
std::optional<Judgement> judge_flight(const Job& job);
std::optional<Judgement> judge_mismatch(const Job& job);
std::optional<Judgement> judge_size_mismatch(const Job& job);
std::optional<Judgement> judge_named(const Job& job);
std::optional<Judgement> judge_startup(const Job& job);
std::optional<Judgement> judge_waiting(const Job& job);
std::optional<Judgement> judge_killed(const Job& job);
std::optional<Judgement> judge_peers_lost(const Job& job);
std::optional<Judgement> judge_exit_codes(const Job& job);
std::optional<Judgement> judge_flight_waiting(const Job& job);

/// None where nothing failed.
std::optional<Judgement> judge(const Job& job);

// What several rules need.

/// The error proves itself: it broke in the process that says so, whatever the others report.
bool is_own_error(model::Fingerprint fingerprint);

/// The class of an exception, or the first words of a line: what two processes have in common that
/// fail the same way.
std::string exception_head(const std::string& text);

/// A peer's address that leads back to oneself: the peer published it, the printer is innocent.
bool names_loopback(const Event& event);

/// "rank 3 (rank3.log:17)", for sentences.
std::string cite(const Job& job, const Event& event);

/// One sentence of what the Flight Recorder's dumps say, and which of them are not here; of a job
/// with job.flight. Empty where there is nothing to say.
std::string flight_summary(const Job& job);
std::string missing_dumps(const Job& job);

/// Ranks whose first failure satisfies the predicate.
template <typename Predicate>
std::set<int> ranks_where(const Job& job, Predicate predicate) {
  std::set<int> found;
  for (const auto& [rank, story] : job.ranks) {
    if (story.first != nullptr && predicate(*story.first)) found.insert(rank);
  }
  return found;
}

/// Of candidates with a last ordinary line, the one that said something else than all others did;
/// none where they do not agree among themselves.
std::optional<int> odd_one_out(const Job& job, const std::set<int>& candidates);

}  // namespace collwatch::diagnose
