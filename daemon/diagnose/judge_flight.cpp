// SPDX-License-Identifier: Apache-2.0
//
// What the Flight Recorder's dumps prove. Who called something else, or never called what the
// others wait in, is known for certain: that outranks what a timeout's text makes one guess. Where
// the dumps only show everybody waiting, the logs are asked first.
#include <algorithm>
#include <cstddef>

#include "daemon/diagnose/judgement.h"
#include "daemon/diagnose/numbers.h"

namespace collwatch::diagnose {
namespace {

using flight::Finding;
using flight::ranks_in_words;
using flight::Trouble;
using model::Confidence;
using model::Fingerprint;

constexpr std::size_t kToldSights = 6;
constexpr std::size_t kToldOthers = 3;

std::string collective(const Trouble& trouble) {
  return trouble.op + ", number " + std::to_string(trouble.seq) + " of " + trouble.group;
}

std::string verb(const std::set<int>& ranks, const char* one, const char* several) {
  return ranks_in_words(ranks) + " " + (ranks.size() == 1 ? one : several);
}

std::string cause_of(const Trouble& trouble) {
  const std::string what = collective(trouble);
  switch (trouble.finding) {
    case Finding::mismatch: {
      if (trouble.odd.empty())
        return "ranks do not call the same in number " + std::to_string(trouble.seq) + " of " +
               trouble.group + ": another " + trouble.what +
               ", and no majority says which is right";
      const std::string does =
          trouble.what == "operation"
              ? verb(trouble.odd, "calls", "call") + " another operation"
              : verb(trouble.odd, "passes", "pass") + " tensors of another " + trouble.what;
      return does + " than the others in number " + std::to_string(trouble.seq) + " of " +
             trouble.group;
    }
    case Finding::crossed:
      return "ranks wait for each other in different process groups: " +
             verb(trouble.behind, "is", "are") + " missed in " + what;
    case Finding::lagging:
      return verb(trouble.odd, "has", "have") + " never called " + what + ", in which " +
             verb(trouble.waiting, "waits", "wait");
    case Finding::state:
      if (trouble.what == "started")
        return "the device of " + verb(trouble.odd, "has", "have") + " not begun " + what +
               ", which runs on the others: what was given to it before is not over";
      return verb(trouble.odd, "has", "have") + " not finished " + what + ", which others have";
    case Finding::missing:
      return verb(trouble.waiting, "waits", "wait") + " in " + what + "; " +
             verb(trouble.absent, "has", "have") + " no dump here";
    case Finding::frozen:
    case Finding::nothing:
      break;
  }
  return verb(trouble.waiting, "waits", "wait") + " in " + what +
         ", and nothing differs between their calls: if the job stands still, look below, at "
         "network and devices";
}

std::string next_of(const Trouble& trouble) {
  switch (trouble.finding) {
    case Finding::mismatch:
      return "Compare what leads to collective number " + std::to_string(trouble.seq) + " of " +
             trouble.group + " in the code of " +
             (trouble.odd.empty() ? "the ranks" : ranks_in_words(trouble.odd)) + ".";
    case Finding::crossed:
      return "Make all ranks use their process groups in the same order.";
    case Finding::lagging:
      return "Find out what " + verb(trouble.odd, "does", "do") +
             " instead: its log, and a stack (py-spy dump --pid PID) where it still runs.";
    case Finding::state:
      return "Look at the device and the host of " + ranks_in_words(trouble.odd) +
             ": Xid in the kernel's log, nvidia-smi, then the network to it.";
    default:
      return {};
  }
}

Confidence confidence_of(const Trouble& trouble) {
  switch (trouble.finding) {
    case Finding::mismatch:
      return trouble.odd.empty() ? Confidence::medium : Confidence::high;
    case Finding::lagging:
      return trouble.absent.empty() && trouble.odd.size() == 1 ? Confidence::high
                                                               : Confidence::medium;
    case Finding::crossed:
      return Confidence::medium;
    default:
      return Confidence::low;
  }
}

std::string dumps_of(const flight::Analysis& analysis) {
  std::string text = "the dumps of " + ranks_in_words(analysis.absent);
  if (analysis.to_fetch.empty()) return text;
  text += " (";
  for (std::size_t i = 0; i < analysis.to_fetch.size(); ++i)
    text += (i == 0 ? "" : ", ") + analysis.to_fetch[i];
  if (analysis.to_fetch.size() < analysis.absent.size()) text += ", ...";
  return text + ")";
}

std::vector<std::string> why_of(const Job& job) {
  const FlightEvidence& flight = *job.flight;
  const Trouble& trouble = flight.analysis.main;
  std::vector<std::string> why;
  for (const std::string& opinion : trouble.opinions) {
    if (why.size() < kToldSights) why.push_back("in the dumps, " + opinion);
  }
  for (std::size_t i = 0; i < std::min(flight.events.size(), kToldSights); ++i)
    why.push_back(cite(job, flight.events[i]) + " " + flight.events[i].text);
  if (flight.events.size() > kToldSights)
    why.push_back("and " + std::to_string(flight.events.size() - kToldSights) + " more ranks");
  for (std::size_t i = 0; i < std::min(flight.analysis.others.size(), kToldOthers); ++i)
    why.push_back("besides, " + cause_of(flight.analysis.others[i]));
  return why;
}

Judgement judgement_of(const Job& job) {
  const FlightEvidence& flight = *job.flight;
  const Trouble& trouble = flight.analysis.main;
  Judgement judgement;
  judgement.confidence = confidence_of(trouble);
  judgement.cause = cause_of(trouble);
  judgement.why = why_of(job);
  judgement.next = next_of(trouble);
  if (!flight.events.empty()) {
    judgement.event = &flight.events.front();
    judgement.place = judgement.event->place;
    judgement.fingerprint = judgement.event->fingerprint;
  }
  if (trouble.odd.size() == 1 && trouble.finding != Finding::crossed) {
    judgement.rank = *trouble.odd.begin();
    judgement.group_rank = trouble.group_rank;
    const auto story = job.ranks.find(*judgement.rank);
    if (story != job.ranks.end()) judgement.host = story->second.host;
  }
  if (std::string dumps = missing_dumps(job); !dumps.empty()) judgement.missing.push_back(dumps);
  return judgement;
}

bool is_proof(Finding finding) {
  return finding == Finding::mismatch || finding == Finding::crossed || finding == Finding::lagging;
}

bool has_failed(const Job& job) {
  return std::any_of(job.ranks.begin(), job.ranks.end(),
                     [](const auto& one) { return one.second.first != nullptr; });
}

}  // namespace

std::string flight_summary(const Job& job) {
  const flight::Analysis& analysis = job.flight->analysis;
  if (analysis.ranks.empty()) return {};
  const std::string whose = "by the Flight Recorder's dumps of " + ranks_in_words(analysis.ranks);
  if (analysis.main.finding == Finding::nothing)
    return whose + " they called the same, and no collective is open";
  return whose + " " + cause_of(analysis.main);
}

std::string missing_dumps(const Job& job) {
  const flight::Analysis& analysis = job.flight->analysis;
  return analysis.absent.empty() || analysis.ranks.empty() ? std::string() : dumps_of(analysis);
}

std::optional<Judgement> judge_flight(const Job& job) {
  if (!job.flight || job.flight->events.empty()) return std::nullopt;
  const Finding finding = job.flight->analysis.main.finding;
  // Ranks look at their collectives one after the other: in a job that runs, some are always ahead.
  const bool is_stuck = finding == Finding::state && has_failed(job);
  if (!is_proof(finding) && !is_stuck) return std::nullopt;
  Judgement judgement = judgement_of(job);
  if (is_stuck) judgement.confidence = Confidence::medium;
  if (finding == Finding::lagging && !has_failed(job)) {
    judgement.why.push_back(
        "no log says that the job failed: if it went on after the dumps were written, this was a "
        "moment's picture");
    judgement.confidence = std::min(judgement.confidence, Confidence::medium);
  }
  return judgement;
}

std::optional<Judgement> judge_flight_waiting(const Job& job) {
  if (!job.flight || job.flight->events.empty()) return std::nullopt;
  Judgement judgement = judgement_of(job);
  if (job.flight->analysis.main.finding == Finding::missing && !judgement.missing.empty()) {
    judgement.next = "Get " + judgement.missing.front() +
                     " and run collwatch diagnose on everything together; if there is none, its "
                     "process ended or hangs outside of collectives.";
  }
  return judgement;
}

}  // namespace collwatch::diagnose
