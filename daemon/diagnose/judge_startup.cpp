// SPDX-License-Identifier: Apache-2.0
//
// Rules about jobs that never got going: who could not reach the store, who never joined, whose
// address was wrong.
#include <algorithm>
#include <map>

#include "daemon/diagnose/judgement.h"
#include "daemon/diagnose/numbers.h"

namespace collwatch::diagnose {
namespace {

using catalogue::Role;
using model::Confidence;
using model::Fingerprint;

bool is_startup(const Event& event) {
  return event.fingerprint == Fingerprint::gloo_init_failed ||
         event.fingerprint == Fingerprint::store_timeout ||
         event.fingerprint == Fingerprint::store_unreachable ||
         event.fingerprint == Fingerprint::file_store_not_shared ||
         event.fingerprint == Fingerprint::gloo_wrong_interface ||
         event.fingerprint == Fingerprint::nccl_init_failed;
}

bool is_waiting_for_store(const Event& event) {
  return event.fingerprint == Fingerprint::store_timeout ||
         event.fingerprint == Fingerprint::file_store_not_shared;
}

/// What startup failures say, rank by rank.
struct Startup {
  std::set<int> unreachable, waiting, initiating, mesh, others;
  const Event* first = nullptr;
  const Event* loopback = nullptr;
  std::map<int, const Event*> key_votes;  ///< ranks whose store keys were waited for
  std::set<int> missing;                  ///< ranks that are said to be missing
};

Startup survey(const Job& job) {
  Startup startup;
  for (const auto& [rank, story] : job.ranks) {
    if (story.first == nullptr) continue;
    const Event& event = *story.first;
    // Losing a store that one had is an echo of something else.
    if (!is_startup(event) || event.role == Role::collateral) {
      startup.others.insert(rank);
    } else if (event.role == Role::initiating &&
               event.fingerprint != Fingerprint::store_unreachable) {
      startup.initiating.insert(rank);
    } else if (event.fingerprint == Fingerprint::store_unreachable) {
      startup.unreachable.insert(rank);
    } else if (is_waiting_for_store(event)) {
      startup.waiting.insert(rank);
    } else {
      startup.mesh.insert(rank);
    }
  }
  for (const Event* event : job.all) {
    if (!event->is_strong) continue;
    if (is_startup(*event) && startup.first == nullptr) startup.first = event;
    if (names_loopback(*event) && startup.loopback == nullptr) startup.loopback = event;
    if (const std::string* list = event->field("missing")) {
      for (const int rank : number_list(*list)) {
        if (event->field("key") != nullptr) {
          startup.key_votes.try_emplace(rank, event);
        } else {
          startup.missing.insert(rank);
        }
      }
    }
  }
  return startup;
}

Judgement base(const Job& job, const Event& event) {
  Judgement judgement;
  judgement.fingerprint = event.fingerprint;
  judgement.event = &event;
  judgement.place = event.place;
  judgement.why = {cite(job, event) + ": " + event.text};
  judgement.cause = event.text;
  return judgement;
}

/// Sets the initiating rank and what its own log shows, or that it is not here.
void blame(const Job& job, Judgement& judgement, int rank, Confidence confidence,
           const std::string& cause) {
  judgement.rank = rank;
  judgement.confidence = confidence;
  judgement.cause = cause;
  const auto it = job.ranks.find(rank);
  if (it == job.ranks.end() || !it->second.has_log) {
    judgement.missing.push_back("rank " + std::to_string(rank) + "'s own log");
  } else if (it->second.first == nullptr) {
    judgement.why.push_back("rank " + std::to_string(rank) + "'s log ends at " +
                            job.where(it->second.last) + " without an error");
    judgement.host = it->second.host;
  }
}

Judgement of_unreachable(const Job& job, const Startup& startup) {
  const int rank = *startup.unreachable.begin();
  const Event& event = *job.ranks.at(rank).first;
  Judgement judgement = base(job, event);
  const std::set<int> silent = job.silent();
  if (startup.unreachable.size() == 1 && (!startup.waiting.empty() || !silent.empty()) &&
      rank != 0) {
    const bool is_alone = std::none_of(job.ranks.begin(), job.ranks.end(), [&](const auto& other) {
      return other.first != rank && other.second.has_log;
    });
    blame(job, judgement, rank,
          is_alone                  ? Confidence::low
          : startup.waiting.empty() ? Confidence::medium
                                    : Confidence::high,
          "rank " + std::to_string(rank) + " cannot reach the store" +
              (startup.waiting.empty() ? (is_alone ? "" : " that the others use")
                                       : " that the others use, or came when they had given up"));
    judgement.event = &event;
    if (is_alone) {
      judgement.missing.push_back(
          "rank 0's own log: it serves the store; if the others reached it, the fault is here");
    }
    if (!startup.waiting.empty()) {
      judgement.why.push_back("rank " + in_words(startup.waiting) +
                              " reached the store and waited there");
    }
    return judgement;
  }
  if (silent.size() == 1 && startup.unreachable.size() + 1 == job.ranks.size()) {
    const int absent = *silent.begin();
    blame(job, judgement, absent, absent == 0 ? Confidence::medium : Confidence::low,
          "rank " + std::to_string(absent) + " does not serve the store, or never started");
    return judgement;
  }
  judgement.confidence = Confidence::medium;
  judgement.cause = "the store cannot be reached: " + event.text;
  judgement.why.push_back(
      "rank " + in_words(startup.unreachable) +
      " cannot reach it: look at MASTER_ADDR, MASTER_PORT and the host behind them");
  const bool has_others = std::any_of(job.ranks.begin(), job.ranks.end(), [&](const auto& other) {
    return other.first != rank && other.second.has_log;
  });
  if (!has_others && rank != 0)
    judgement.missing.push_back("rank 0's own log: it serves the store, or had given up before");
  return judgement;
}

/// Somebody is missing: who?
void find_missing(const Job& job, const Startup& startup, Judgement& judgement) {
  std::set<int> candidates = job.silent();
  const std::string whose = "never joined";
  if (startup.missing.size() == 1) {
    blame(job, judgement, *startup.missing.begin(), Confidence::high,
          "rank " + in_words(startup.missing) + " is missing");
    return;
  }
  if (candidates.empty()) candidates = startup.others;
  if (candidates.size() == 1) {
    const int rank = *candidates.begin();
    const bool is_keyed = startup.key_votes.count(rank) != 0;
    blame(job, judgement, rank, is_keyed || job.world ? Confidence::high : Confidence::medium,
          "rank " + std::to_string(rank) + " " + whose + ": all others wait");
    return;
  }
  for (const auto& [rank, event] : startup.key_votes) {
    const bool waits_itself = startup.waiting.count(rank) != 0;
    if (waits_itself || (candidates.size() > 1 && candidates.count(rank) == 0)) continue;
    if (startup.key_votes.size() > 2) break;
    const auto story = job.ranks.find(rank);
    const bool is_heard = story != job.ranks.end() && story->second.has_log;
    blame(job, judgement, rank, is_heard ? Confidence::medium : Confidence::low,
          "rank " + std::to_string(rank) + " has not published its address: " + event->text);
    // It may wait itself for somebody of whom nothing is known either.
    if (!is_heard && candidates.size() > 1) {
      judgement.missing = {"the logs of ranks " + in_words(candidates) + ", first rank " +
                           std::to_string(rank) + "'s own log"};
    }
    return;
  }
  judgement.confidence = candidates.empty() ? Confidence::medium : Confidence::low;
  if (!candidates.empty()) {
    judgement.missing.push_back("the logs of ranks " + in_words(candidates) +
                                ": one of them is the cause");
  }
}

}  // namespace

std::optional<Judgement> judge_startup(const Job& job) {
  const Startup startup = survey(job);
  const bool owned = !startup.unreachable.empty() || !startup.waiting.empty() ||
                     !startup.initiating.empty() || !startup.mesh.empty();
  if (!owned) {
    for (const Event* event : job.unowned) {
      if (!is_startup(*event)) continue;
      Judgement judgement = base(job, *event);
      judgement.confidence = Confidence::medium;
      find_missing(job, startup, judgement);
      return judgement;
    }
    return std::nullopt;
  }
  if (startup.loopback != nullptr) {
    Judgement judgement = base(job, *startup.loopback);
    judgement.fingerprint = Fingerprint::gloo_wrong_interface;
    judgement.confidence = Confidence::medium;
    judgement.cause =
        "a rank published a loopback address, which leads its peers back to themselves";
    const std::set<int> silent = job.silent();
    if (silent.size() == 1) {
      blame(job, judgement, *silent.begin(), Confidence::medium,
            "rank " + in_words(silent) + " published a loopback address");
    } else {
      judgement.missing.push_back(
          (silent.empty() ? "the other ranks' logs" : "the logs of ranks " + in_words(silent)) +
          std::string(": the one that published it says which address it took"));
    }
    return judgement;
  }
  if (!startup.initiating.empty()) {
    const Event& event = *job.ranks.at(*startup.initiating.begin()).first;
    Judgement judgement = base(job, event);
    judgement.confidence = Confidence::high;
    if (startup.initiating.size() == 1 && job.ranks.size() > 1) {
      judgement.rank = *startup.initiating.begin();
      judgement.cause = "rank " + std::to_string(*judgement.rank) + ": " + event.text;
    }
    return judgement;
  }
  if (!startup.unreachable.empty()) return of_unreachable(job, startup);
  const bool waits = !startup.waiting.empty();
  const int rank = waits ? *startup.waiting.begin() : *startup.mesh.begin();
  Judgement judgement = base(job, *job.ranks.at(rank).first);
  judgement.confidence = Confidence::medium;
  find_missing(job, startup, judgement);
  return judgement;
}

}  // namespace collwatch::diagnose
