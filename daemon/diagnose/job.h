// SPDX-License-Identifier: Apache-2.0
//
// All files together, seen as one job: which ranks there are, which lines are whose, and for each
// rank how its story goes: what it failed with first, how its process ended, what it said last. The
// rules that judge work on this. Built once from the facts; read-only afterwards.
#pragma once

#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "daemon/diagnose/facts.h"
#include "daemon/flight/analyse.h"

namespace collwatch::diagnose {

struct RankStory {
  int rank = 0;
  bool has_log = false;                ///< some line is surely this rank's
  bool has_dump = false;               ///< of the Flight Recorder
  bool waits_in_dump = false;          ///< in a collective that was not over
  std::vector<const Event*> failures;  ///< in order, warnings and consequences left out
  const Event* first = nullptr;        ///< the first of them
  const Exit* exit = nullptr;          ///< how its process ended, where somebody says so
  std::string host;
  std::optional<long> pid;
  std::optional<int> local_rank;
  std::string last_text;  ///< the last ordinary line before it failed
  Place last_ordinary;
  Place last;
  bool recovered = false;  ///< it went on for long after its last failure
};

/// What the Flight Recorder's dumps among the files say.
struct FlightEvidence {
  flight::Analysis analysis;
  std::vector<Event> events;  ///< one for each rank that takes part in analysis.main, in its order
  std::vector<std::string> notes;  ///< dumps that could not be used, and why
};

struct Job {
  std::vector<FileFacts> files;
  std::map<int, RankStory> ranks;     ///< every rank that is known to exist
  std::optional<int> world;           ///< where some line states it
  std::vector<const Event*> unowned;  ///< failures of which nobody knows whose they are
  std::vector<const Event*> all;      ///< every event that is not benign, in order of file and line
  bool several_hosts = false;
  std::optional<FlightEvidence> flight;

  bool knows_all_ranks() const { return world && static_cast<int>(ranks.size()) == *world; }
  const FileFacts& file(const Place& place) const {
    return files[static_cast<std::size_t>(place.file)];
  }
  std::string where(const Place& place) const;

  /// Ranks without a failure of their own.
  std::set<int> silent() const;
};

Job build_job(std::vector<FileFacts> files);

}  // namespace collwatch::diagnose
