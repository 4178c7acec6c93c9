// SPDX-License-Identifier: Apache-2.0
//
// Whose line is it? Names in the text first, then what maps local ranks and pids to ranks, then the
// file's name.
#include "daemon/diagnose/job.h"

#include <algorithm>

#include "daemon/diagnose/numbers.h"

namespace collwatch::diagnose {
namespace {

constexpr long kRecoveredAfter = 25;  ///< ordinary lines after an error that show life went on
constexpr int kMostRanks = 65536;

/// What names a rank although the line itself does not.
struct Ties {
  std::map<long, int> by_pid;
  std::map<int, int> by_local_rank;
  bool local_is_global = true;  ///< no sign of a second node
};

std::optional<int> valid(const std::optional<int>& rank, const std::optional<int>& world) {
  if (!rank || *rank < 0 || *rank >= kMostRanks || (world && *rank >= *world)) return std::nullopt;
  return rank;
}

std::optional<int> world_of(const std::vector<FileFacts>& files) {
  std::optional<int> world;
  const auto mention = [&](std::optional<int> size) {
    if (size && *size > 0 && *size < kMostRanks) world = std::max(world.value_or(0), *size);
  };
  for (const FileFacts& file : files) {
    mention(file.world);
    for (const Event& event : file.events) mention(number(event.field("expected")));
  }
  return world;
}

/// A path's rank, or the only one that the file's lines name.
std::optional<int> owner_of(const FileFacts& file, const std::optional<int>& world) {
  std::set<int> named;
  for (const Writer& writer : file.writers) {
    if (const auto rank = valid(writer.rank, world)) named.insert(*rank);
  }
  if (named.size() == 1) return *named.begin();
  if (named.empty()) return valid(file.source.hint.rank, world);
  return std::nullopt;
}

/// "3: text": only where nearly the whole file is like that, and no line that names its rank says
/// otherwise, are these numbers tasks.
bool labels_are_ranks(const FileFacts& file, const std::optional<int>& world) {
  long labelled = 0;
  long lines = 0;
  std::set<int> labels;
  for (const Writer& writer : file.writers) {
    lines += writer.lines;
    if (!writer.label) continue;
    const auto rank = valid(writer.rank, world);
    if (rank && rank != writer.label) return false;
    labelled += writer.lines;
    labels.insert(*writer.label);
  }
  return labels.size() >= 2 && labelled * 10 >= lines * 6;
}

Ties ties_of(const std::vector<FileFacts>& files, const std::optional<int>& world) {
  Ties ties;
  std::set<int> conflicting;
  const auto local = [&](int local_rank, int rank) {
    const auto [it, is_new] = ties.by_local_rank.try_emplace(local_rank, rank);
    if (!is_new && it->second != rank) ties.local_is_global = false;
    if (local_rank != rank) ties.local_is_global = false;
  };
  for (const FileFacts& file : files) {
    for (const Writer& writer : file.writers) {
      const auto rank = valid(writer.rank, world);
      if (!rank) continue;
      if (writer.pid) ties.by_pid.try_emplace(*writer.pid, *rank);
      if (writer.local_rank) local(*writer.local_rank, *rank);
      if (file.source.hint.local_rank) local(*file.source.hint.local_rank, *rank);
    }
    for (const Exit& exit : file.exits) {
      const auto rank = valid(exit.rank, world);
      if (rank && exit.pid) ties.by_pid.try_emplace(*exit.pid, *rank);
      if (rank && exit.local_rank) local(*exit.local_rank, *rank);
    }
    if (const auto owner = owner_of(file, world)) {
      for (const Writer& writer : file.writers) {
        if (writer.pid && !writer.is_kernel) ties.by_pid.try_emplace(*writer.pid, *owner);
      }
    }
  }
  return ties;
}

std::optional<int> by_local_rank(const Ties& ties, int local_rank) {
  const auto it = ties.by_local_rank.find(local_rank);
  if (it != ties.by_local_rank.end()) return it->second;
  return ties.local_is_global ? std::optional<int>(local_rank) : std::nullopt;
}

std::optional<int> rank_of(const FileFacts& file, const Writer& writer, const Ties& ties,
                           const std::optional<int>& world) {
  if (writer.is_kernel) return std::nullopt;
  if (const auto rank = valid(writer.rank, world)) return rank;
  // A number that no rank can have: path or launcher may know better.
  if (writer.rank && writer.label && labels_are_ranks(file, world))
    return valid(writer.label, world);
  if (writer.rank && file.source.hint.rank) return valid(file.source.hint.rank, world);
  if (writer.pid) {
    const auto it = ties.by_pid.find(*writer.pid);
    if (it != ties.by_pid.end()) return it->second;
  }
  if (writer.local_rank) return valid(by_local_rank(ties, *writer.local_rank), world);
  if (writer.label && labels_are_ranks(file, world)) return valid(writer.label, world);
  if (const auto owner = owner_of(file, world)) return owner;
  if (file.source.hint.local_rank)
    return valid(by_local_rank(ties, *file.source.hint.local_rank), world);
  return valid(writer.group_rank, world);
}

void own_exits(FileFacts& file, const Ties& ties, const std::optional<int>& world) {
  for (Exit& exit : file.exits) {
    if (valid(exit.rank, world)) continue;
    if (exit.pid) {
      const auto it = ties.by_pid.find(*exit.pid);
      if (it != ties.by_pid.end()) exit.rank = it->second;
    }
    if (!exit.rank && exit.local_rank) exit.rank = by_local_rank(ties, *exit.local_rank);
    exit.rank = valid(exit.rank, world);
  }
}

/// What a rank did about itself in one file.
void tell(RankStory& story, const Writer& writer, bool is_own_file) {
  story.has_log = true;
  if (!writer.host.empty() && story.host.empty()) story.host = writer.host;
  if (writer.pid) story.pid = writer.pid;
  if (writer.local_rank) story.local_rank = writer.local_rank;
  // The rank's own file knows best what it said last; a launcher's copy may be cut or late.
  if (story.last.line == 0 || is_own_file) {
    story.last = writer.last;
    if (!writer.last_text.empty()) {
      story.last_text = writer.last_text;
      story.last_ordinary = writer.last_ordinary;
    }
    story.recovered = writer.after_failure >= kRecoveredAfter;
  }
}

bool is_failure(const Event& event) {
  return event.is_strong && !event.pattern.empty() && event.role != catalogue::Role::benign;
}

void sort_events(Job& job) {
  for (FileFacts& file : job.files) {
    for (Event& event : file.events) {
      if (event.role != catalogue::Role::benign) job.all.push_back(&event);
      if (event.rank) job.ranks[*event.rank].rank = *event.rank;
      if (!is_failure(event)) continue;
      if (!event.rank) {
        job.unowned.push_back(&event);
        continue;
      }
      RankStory& story = job.ranks[*event.rank];
      story.rank = *event.rank;
      story.failures.push_back(&event);
    }
  }
  for (auto& [rank, story] : job.ranks) {
    story.rank = rank;
    if (story.recovered) continue;
    // The first in its own file; the launcher's copy of the same line is no second failure.
    for (const Event* event : story.failures) {
      const bool own = job.file(event->place).owner == rank;
      const bool had_own = story.first != nullptr && job.file(story.first->place).owner == rank;
      if (story.first == nullptr || (own && !had_own)) story.first = event;
    }
  }
}

bool has_failure(const FileFacts& file, long before_line) {
  const auto is_early = [&](const Place& place) {
    return before_line == 0 || place.line < before_line;
  };
  return std::any_of(
             file.events.begin(), file.events.end(),
             [&](const Event& event) { return is_failure(event) && is_early(event.place); }) ||
         std::any_of(file.exits.begin(), file.exits.end(),
                     [&](const Exit& exit) { return exit.code != 0 && is_early(exit.place); });
}

/// A launcher that starts the workers again hides the failure under later ones: only the first
/// generation that failed is judged.
void keep_first_generation(std::vector<FileFacts>& files) {
  std::optional<int> first;
  for (FileFacts& file : files) {
    for (const Place& restart : file.restarts) {
      if (!has_failure(file, restart.line)) continue;
      const auto is_late = [&](const auto& one) { return one.place.line > restart.line; };
      file.events.erase(std::remove_if(file.events.begin(), file.events.end(), is_late),
                        file.events.end());
      file.exits.erase(std::remove_if(file.exits.begin(), file.exits.end(), is_late),
                       file.exits.end());
      break;
    }
    const auto& attempt = file.source.hint.attempt;
    if (attempt && has_failure(file, 0)) first = std::min(first.value_or(*attempt), *attempt);
  }
  for (FileFacts& file : files) {
    const auto& attempt = file.source.hint.attempt;
    if (!first || !attempt || *attempt <= *first) continue;
    file.events.clear();
    file.exits.clear();
  }
}

}  // namespace

std::string Job::where(const Place& place) const {
  if (place.file < 0) return "";
  return file(place).source.name + ":" + std::to_string(place.line);
}

std::set<int> Job::silent() const {
  std::set<int> silent;
  for (const auto& [rank, story] : ranks) {
    if (story.first == nullptr) silent.insert(rank);
  }
  return silent;
}

Job build_job(std::vector<FileFacts> files) {
  Job job;
  job.files = std::move(files);
  keep_first_generation(job.files);
  job.world = world_of(job.files);
  const Ties ties = ties_of(job.files, job.world);
  std::set<std::string> hosts;
  for (FileFacts& file : job.files) {
    own_exits(file, ties, job.world);
    std::vector<std::optional<int>> ranks;
    for (const Writer& writer : file.writers) {
      ranks.push_back(rank_of(file, writer, ties, job.world));
      if (!writer.host.empty()) hosts.insert(writer.host);
    }
    file.owner = owner_of(file, job.world);
    if (!file.owner && file.source.hint.local_rank) {
      file.owner = by_local_rank(ties, *file.source.hint.local_rank);
    }
    const bool is_own_file = file.owner.has_value();
    for (Event& event : file.events) {
      event.rank = ranks[static_cast<std::size_t>(event.writer)];
      // Unmarked lines about the host or the job stand among a rank's lines by chance.
      const bool is_of_host = event.fingerprint == model::Fingerprint::host_oom_kill ||
                              event.fingerprint == model::Fingerprint::gpu_hardware_xid ||
                              event.fingerprint == model::Fingerprint::job_cancelled;
      if (event.rank_is_guess && is_of_host) event.rank.reset();
      if (event.who.local_rank && !event.rank)
        event.rank = by_local_rank(ties, *event.who.local_rank);
    }
    for (std::size_t i = 0; i < file.writers.size(); ++i) {
      if (!ranks[i]) continue;
      RankStory& story = job.ranks[*ranks[i]];
      story.rank = *ranks[i];
      tell(story, file.writers[i], is_own_file);
    }
  }
  for (const FileFacts& file : job.files) {
    for (const Exit& exit : file.exits) {
      if (!exit.rank) continue;
      RankStory& story = job.ranks[*exit.rank];
      story.rank = *exit.rank;
      if (story.exit == nullptr) story.exit = &exit;
      if (story.host.empty()) story.host = exit.host;
      if (exit.pid) story.pid = exit.pid;
    }
  }
  job.several_hosts = hosts.size() > 1;
  if (job.world && *job.world <= 4096) {
    for (int rank = 0; rank < *job.world; ++rank) job.ranks[rank].rank = rank;
  }
  sort_events(job);
  return job;
}

}  // namespace collwatch::diagnose
