// SPDX-License-Identifier: Apache-2.0
//
// Rules about one process or host: the job was cancelled, the kernel or the hardware spoke, a
// process failed by itself, a process was ended by a signal.
#include <algorithm>

#include "daemon/diagnose/judgement.h"
#include "daemon/diagnose/numbers.h"

namespace collwatch::diagnose {
namespace {

using catalogue::Role;
using model::Confidence;
using model::Fingerprint;

constexpr int kSigint = 2;
constexpr int kSigabrt = 6;
constexpr int kSigterm = 15;

bool is_teardown(int code) {
  return code == 0 || code == -kSigterm || code == -kSigint;
}

std::string signal_name(int signal) {
  switch (signal) {
    case 4:
      return "SIGILL";
    case 6:
      return "SIGABRT";
    case 7:
      return "SIGBUS";
    case 8:
      return "SIGFPE";
    case 9:
      return "SIGKILL";
    case 11:
      return "SIGSEGV";
    default:
      return "signal " + std::to_string(signal);
  }
}

std::optional<int> rank_of_pid(const Job& job, const Event& event) {
  const auto pid = number(event.field("pid"));
  if (!pid) return std::nullopt;
  for (const auto& [rank, story] : job.ranks) {
    if (story.pid && *story.pid == *pid) return rank;
  }
  return std::nullopt;
}

/// The one rank that ended without a word, or by SIGKILL.
std::optional<int> only_silent_rank(const Job& job) {
  const std::set<int> silent = job.silent();
  if (silent.size() == 1) return *silent.begin();
  std::optional<int> killed;
  for (const auto& [rank, story] : job.ranks) {
    if (story.exit == nullptr || story.exit->code != -9) continue;
    if (killed) return std::nullopt;
    killed = rank;
  }
  return killed;
}

/// Errors of different processes: which came first, where that can be told at all. Order within one
/// file counts; clocks only where there is one host; never the order of files.
const Event* earliest(const Job& job, const std::vector<const Event*>& events) {
  const bool one_file = std::all_of(events.begin(), events.end(), [&](const Event* event) {
    return event->place.file == events.front()->place.file;
  });
  const auto by_line = [](const Event* a, const Event* b) { return a->place.line < b->place.line; };
  if (one_file) return *std::min_element(events.begin(), events.end(), by_line);
  const bool timed = std::all_of(events.begin(), events.end(), [](const Event* event) {
    return event->who.time.size() > 10 && event->who.time[10] == 'T';
  });
  if (!timed || job.several_hosts) return nullptr;
  return *std::min_element(events.begin(), events.end(), [](const Event* a, const Event* b) {
    return a->who.time < b->who.time;
  });
}

/// The event that a rank failed with, if it proves itself. Running out of GPU memory does even when
/// lines about the others come first.
const Event* own_error(const RankStory& story) {
  if (story.first == nullptr || story.recovered) return nullptr;
  if (story.first->role == Role::initiating && is_own_error(story.first->fingerprint) &&
      !names_loopback(*story.first))
    return story.first;
  for (const Event* event : story.failures) {
    const bool stands = event->fingerprint == Fingerprint::cuda_oom ||
                        (event->is_exception && !event->is_chained && !story.first->is_exception &&
                         story.first->role == Role::collateral);
    if (stands && event->role == Role::initiating && is_own_error(event->fingerprint)) return event;
  }
  return nullptr;
}

std::string cause_of(const Event& event) {
  std::string cause = event.rank ? "rank " + std::to_string(*event.rank) : std::string("a process");
  cause += " failed by itself: " + event.text;
  if (!event.code.empty()) cause += " (at " + event.code + ")";
  return cause;
}

Judgement of_event(const Job& job, const Event& event, Confidence confidence) {
  Judgement judgement;
  judgement.fingerprint = event.fingerprint;
  judgement.confidence = confidence;
  judgement.rank = event.rank;
  judgement.host = event.who.host;
  judgement.event = &event;
  judgement.place = event.place;
  judgement.cause = cause_of(event);
  judgement.why.push_back(cite(job, event) +
                          " reports an error of its own, not one about its peers: " + event.text);
  return judgement;
}

Judgement everywhere(const Job& job, const Event& event, std::size_t ranks) {
  Judgement judgement = of_event(job, event, Confidence::high);
  judgement.rank.reset();
  judgement.host.clear();
  judgement.cause = "all " + std::to_string(ranks) + " ranks fail the same way: " + event.text;
  judgement.why = {"every rank with a log reports the same, first seen at " +
                   job.where(event.place) +
                   ": no rank is to blame, the program or its environment is"};
  return judgement;
}

}  // namespace

std::optional<Judgement> judge_cancelled(const Job& job) {
  const Event* cancelled = nullptr;
  for (const Event* event : job.all) {
    if (event->fingerprint == Fingerprint::job_cancelled && event->role != Role::collateral) {
      if (cancelled == nullptr || event->role < cancelled->role) cancelled = event;
    } else if (event->is_strong && !event->pattern.empty() && event->role != Role::collateral &&
               event->fingerprint != Fingerprint::job_cancelled) {
      return std::nullopt;  // something was wrong before, or besides
    }
  }
  if (cancelled == nullptr) return std::nullopt;
  for (const FileFacts& file : job.files) {
    for (const Exit& exit : file.exits) {
      if (!is_teardown(exit.code) && exit.code != -9) return std::nullopt;
    }
  }
  Judgement judgement = of_event(job, *cancelled, Confidence::high);
  judgement.rank.reset();
  judgement.cause = "the job was ended from outside: " + cancelled->text;
  judgement.why = {job.where(cancelled->place) +
                   " shows the request to stop, and no worker failed before it"};
  return judgement;
}

std::optional<Judgement> judge_host(const Job& job) {
  const Event* best = nullptr;
  std::optional<int> rank;
  for (const Event* event : job.all) {
    const bool is_host = event->fingerprint == Fingerprint::gpu_hardware_xid ||
                         event->fingerprint == Fingerprint::host_oom_kill;
    if (!is_host || event->role != Role::initiating) continue;
    const auto owner = event->rank ? event->rank : rank_of_pid(job, *event);
    if (best == nullptr || (!rank && owner)) {
      best = event;
      rank = owner;
    }
  }
  if (best == nullptr) return std::nullopt;
  Judgement judgement = of_event(job, *best, Confidence::high);
  const bool is_own_word = best->rank.has_value();
  judgement.why = {
      job.where(best->place) +
      (is_own_word ? " is what the driver told the rank: " : " is the kernel's own word: ") +
      best->text};
  if (rank) {
    judgement.rank = rank;
    if (!is_own_word)
      judgement.why.push_back("the process it names is rank " + std::to_string(*rank));
  } else if (const auto silent = only_silent_rank(job)) {
    judgement.rank = silent;
    judgement.confidence = Confidence::medium;
    judgement.why.push_back("rank " + std::to_string(*silent) +
                            " is the one that ended without a word");
  } else {
    judgement.missing.push_back("which rank ran as the process that the kernel names");
  }
  judgement.cause =
      (judgement.rank ? "rank " + std::to_string(*judgement.rank) + "'s host: " : "the host: ") +
      best->text;
  return judgement;
}

std::optional<Judgement> judge_own_error(const Job& job) {
  std::vector<const Event*> own;
  std::set<int> others;
  for (const auto& [rank, story] : job.ranks) {
    if (const Event* event = own_error(story)) {
      own.push_back(event);
    } else if (story.has_log) {
      others.insert(rank);
    }
  }
  if (own.empty()) {
    for (const Event* event : job.unowned) {
      if (event->role != Role::initiating || !is_own_error(event->fingerprint) || event->is_chained)
        continue;
      if (event->pattern == "python-exception" && job.unowned.front() != event &&
          !job.ranks.empty())
        continue;
      Judgement judgement =
          of_event(job, *event, job.ranks.empty() ? Confidence::medium : Confidence::low);
      judgement.missing.push_back("a log whose lines name their rank: this line does not");
      return judgement;
    }
    return std::nullopt;
  }
  if (own.size() == 1) {
    Judgement judgement = of_event(job, *own.front(), Confidence::high);
    if (!others.empty()) {
      judgement.why.push_back("what rank " + in_words(others) + " report" +
                              (others.size() == 1 ? "s" : "") + " can follow from that");
    }
    return judgement;
  }
  const bool same = std::all_of(own.begin(), own.end(), [&](const Event* event) {
    return event->fingerprint == own.front()->fingerprint &&
           event->pattern == own.front()->pattern &&
           exception_head(event->text) == exception_head(own.front()->text);
  });
  if (same && others.empty()) return everywhere(job, *own.front(), own.size());
  const Event* const first = earliest(job, own);
  Judgement judgement = of_event(job, first != nullptr ? *first : *own.front(), Confidence::medium);
  std::set<int> ranks;
  for (const Event* event : own) ranks.insert(*event->rank);
  judgement.why.push_back("ranks " + in_words(ranks) + " each report an error of their own" +
                          (first != nullptr
                               ? "; this one came first"
                               : "; which came first cannot be told from these files"));
  if (first == nullptr) {
    judgement.rank.reset();
    judgement.confidence = Confidence::low;
    judgement.missing.push_back("times that can be compared between these ranks");
  }
  return judgement;
}

std::optional<Judgement> judge_killed(const Job& job) {
  const RankStory* killed = nullptr;
  int count = 0;
  for (const auto& [rank, story] : job.ranks) {
    if (story.exit == nullptr || story.exit->code >= 0 || is_teardown(story.exit->code)) continue;
    // An abort is how a process ends that has just said why.
    if (story.first != nullptr && story.exit->code == -kSigabrt) continue;
    if (story.first != nullptr && story.first->role != Role::collateral) continue;
    ++count;
    if (killed == nullptr || story.first == nullptr) killed = &story;
  }
  if (killed == nullptr) return std::nullopt;
  Judgement judgement;
  judgement.fingerprint = Fingerprint::worker_exit;
  judgement.confidence = count == 1 ? Confidence::high : Confidence::medium;
  judgement.rank = killed->rank;
  judgement.host = killed->exit->host;
  judgement.place = killed->exit->place;
  const std::string signal = signal_name(-killed->exit->code);
  judgement.cause = "rank " + std::to_string(killed->rank) + " was ended by " + signal;
  judgement.why = {job.where(killed->exit->place) + " says so: " + killed->exit->text};
  if (killed->has_log) {
    judgement.why.push_back(
        "its own log stops at " + job.where(killed->last) +
        " without an error, as the log of a process does that is ended by a signal");
  }
  if (signal == "SIGKILL")
    judgement.missing.push_back("the host's kernel log: SIGKILL may be the out-of-memory killer");
  return judgement;
}

std::optional<Judgement> judge_exit_codes(const Job& job) {
  const Exit* first = nullptr;
  for (const FileFacts& file : job.files) {
    for (const Exit& exit : file.exits) {
      if (is_teardown(exit.code)) continue;
      if (first == nullptr || (!first->rank && exit.rank)) first = &exit;
    }
  }
  if (first == nullptr) return std::nullopt;
  Judgement judgement;
  judgement.fingerprint = Fingerprint::worker_exit;
  judgement.confidence = Confidence::low;
  judgement.rank = first->rank;
  judgement.host = first->host;
  judgement.place = first->place;
  judgement.cause =
      (first->rank ? "rank " + std::to_string(*first->rank) : std::string("a worker")) +
      " ended with " +
      (first->code < 0 ? signal_name(-first->code) : "exit code " + std::to_string(first->code));
  judgement.why = {
      job.where(first->place) + ": " + first->text,
      "a launcher lists whoever ended first, which is often a victim; nothing here says more"};
  judgement.missing.push_back(first->rank ? "rank " + std::to_string(*first->rank) + "'s own log"
                                          : "the workers' own logs");
  return judgement;
}

}  // namespace collwatch::diagnose
