// SPDX-License-Identifier: Apache-2.0
//
// Who is odd is compared with the most of its communicator; the job's rank is found through the
// largest communicator, since a rank's number is another one in each.
#include "daemon/ras/judge.h"

#include <algorithm>
#include <set>
#include <utility>

namespace collwatch::ras {
namespace {

using model::Fingerprint;

constexpr int kRemote = 6;
constexpr std::size_t kMostSeen = 4096;

/// "1 rank", "3 ranks".
std::string several(int count, const std::string& what) {
  return std::to_string(count) + " " + what + (count == 1 ? "" : "s");
}

std::string process_text(const std::string& host, int pid, const std::string& gpu) {
  std::string text = " (process " + std::to_string(pid) + " on " + host;
  if (!gpu.empty()) text += ", GPU " + gpu;
  return text + ")";
}

Fingerprint class_of_error(const ErrorGroup& group) {
  if (group.at_init) return Fingerprint::nccl_init_failed;
  switch (group.code) {
    case 1:
      return Fingerprint::cuda_error;
    case 4:
    case 5:
      return Fingerprint::nccl_invalid_usage;
    case kRemote:
      return Fingerprint::nccl_remote_error;
    case 8:
      return Fingerprint::nccl_watchdog_timeout;
    default:
      return Fingerprint::nccl_system_error;
  }
}

Rank rank_of(const Communicator& communicator, int number) {
  if (const Rank* const found = communicator.find(number)) return *found;
  Rank unknown;
  unknown.rank = number;
  return unknown;
}

/// Few enough to be the cause and not the symptom.
bool are_few(std::size_t named, int of) {
  return named > 0 && (named == 1 || static_cast<int>(named) * 4 <= of) &&
         static_cast<int>(named) <= Judge::kMostNamed;
}

/// Those that are odd in one kind of collective are so in the other, too; else each of two camps is
/// ahead in something.
bool are_nested(const std::vector<Difference>& differences) {
  std::vector<std::set<int>> sets;
  for (const Difference& one : differences) {
    if (sets.size() >= kMostOperations) break;
    std::set<int>& odd = sets.emplace_back();
    for (const Difference::Standing& standing : one.odd) odd.insert(standing.rank);
  }
  const auto holds = [](const std::set<int>& a, const std::set<int>& b) {
    return std::includes(a.begin(), a.end(), b.begin(), b.end());
  };
  for (const auto& a : sets) {
    for (const auto& b : sets) {
      if (!holds(a, b) && !holds(b, a)) return false;
    }
  }
  return true;
}

}  // namespace

/// What a rank of a communicator is in the job.
class Judge::World {
 public:
  World(const Report& report, int world_size) : report_(report), size_(world_size) {
    const Communicator* largest = nullptr;
    for (const Communicator& one : report.communicators) {
      if (size_ > 0 ? one.size == size_ : largest == nullptr || one.size > largest->size) {
        largest = &one;
      }
    }
    if (largest == nullptr) return;
    if (size_ <= 0) size_ = largest->size;
    for (const Rank& rank : largest->ranks) ranks_.emplace(key_of(rank), rank.rank);
  }

  const Report& report() const { return report_; }

  int of(const Communicator& communicator, const Rank& rank) const {
    if (communicator.size == size_) return rank.rank;
    const auto found = ranks_.find(key_of(rank));
    return found == ranks_.end() ? -1 : found->second;
  }

  /// By its process, where it has one rank only.
  int of(const LostProcess& lost) const {
    int found = -1;
    for (const auto& [key, rank] : ranks_) {
      if (std::get<1>(key) != lost.pid || report_.hosts[std::get<0>(key)] != lost.host) continue;
      if (found >= 0) return -1;
      found = rank;
    }
    return found;
  }

  /// "rank 5", "rank 1 of a communicator of 4 (rank 5 of the job)" and where it runs.
  std::string text_of(const Communicator& communicator, const Rank& rank) const {
    std::string text = "rank " + std::to_string(rank.rank);
    if (communicator.size != size_) {
      text += " of a communicator of " + std::to_string(communicator.size);
    }
    if (rank.pid == 0) return text;
    std::string gpu;
    if (rank.cuda_device >= 0) gpu = std::to_string(rank.cuda_device);
    if (rank.nvml_device >= 0 && rank.nvml_device != rank.cuda_device) {
      gpu += ", NVML " + std::to_string(rank.nvml_device);
    }
    return text + process_text(report_.host_of(rank), rank.pid, gpu);
  }

 private:
  using Place = std::tuple<std::uint32_t, int, int>;
  static Place key_of(const Rank& rank) { return {rank.host, rank.pid, rank.cuda_device}; }

  const Report& report_;
  int size_ = 0;
  std::map<Place, int> ranks_;
};

std::vector<Finding> Judge::add(const Report& report, int world_size, bool is_last,
                                base::TimePoint now) {
  findings_.clear();
  now_seen_.clear();
  const bool too_soon = sampled_ && now - *sampled_ < kApart;
  if (too_soon || !report.complete) return {};
  now_ = now;
  sampled_ = now;
  is_last_ = is_last;
  const World world(report, world_size);
  for (const Communicator& communicator : report.communicators) {
    look_at_missing(world, communicator);
    look_at_errors(world, communicator);
    if (communicator.mismatch) look_at_counts(world, communicator);
  }
  look_at_lost(world);
  look_at_init(world);
  seen_ = std::move(now_seen_);
  return std::move(findings_);
}

bool Judge::lasts(Key key, base::Clock::duration least) {
  if (now_seen_.size() >= kMostSeen) return false;
  const auto before = seen_.find(key);
  Seen seen{1, now_, now_};
  if (before != seen_.end()) seen = {before->second.samples + 1, before->second.first, now_};
  now_seen_[std::move(key)] = seen;
  return seen.samples >= kSamples && seen.last - seen.first >= least;
}

/// The first of a class and rank; the same process is in many communicators.
void Judge::tell(Finding finding) {
  const bool is_told = std::any_of(findings_.begin(), findings_.end(), [&](const Finding& one) {
    return one.id == finding.id && one.rank == finding.rank && one.host == finding.host;
  });
  if (!is_told && findings_.size() < kMostFindings) findings_.push_back(std::move(finding));
}

void Judge::look_at_missing(const World& world, const Communicator& communicator) {
  for (const Rank& rank : communicator.ranks) {
    if (rank.presence == Presence::present) continue;
    const std::string who = world.text_of(communicator, rank);
    Finding finding;
    finding.id = Fingerprint::nccl_remote_error;
    finding.initiating = true;
    finding.rank = world.of(communicator, rank);
    finding.host = world.report().host_of(rank);
    if (rank.presence == Presence::dead) {
      finding.text = who + " is dead: NCCL's RAS has given its process up";
      tell(std::move(finding));
    } else if (lasts({communicator.hash, "missing", std::to_string(rank.rank)}) || is_last_) {
      finding.text = who + " does not answer NCCL's RAS: its process is gone, stopped or cut off";
      tell(std::move(finding));
    }
  }
}

void Judge::look_at_lost(const World& world) {
  std::set<std::pair<std::string, int>> dead;
  for (const LostProcess& lost : world.report().lost) {
    if (lost.dead) dead.emplace(lost.host, lost.pid);
  }
  for (const LostProcess& lost : world.report().lost) {
    const std::pair place{lost.host, lost.pid};
    if (!lost.dead && dead.contains(place)) continue;
    const std::string pid = std::to_string(lost.pid);
    if (!lost.dead && !lasts({"", "lost", lost.host + " " + pid}) && !is_last_) continue;
    Finding finding;
    finding.id = Fingerprint::nccl_remote_error;
    finding.initiating = true;
    finding.rank = world.of(lost);
    finding.host = lost.host;
    finding.text = "a process of the job" + process_text(lost.host, lost.pid, lost.gpu) +
                   (lost.dead ? " is dead: NCCL's RAS has given it up"
                              : " does not answer NCCL's RAS: gone, stopped or cut off");
    if (finding.rank < 0) {
      // The rank is told by its communicator, where the report has one.
      const bool is_told = std::any_of(findings_.begin(), findings_.end(), [&](const Finding& one) {
        return one.id == finding.id &&
               one.text.find("process " + pid + " on " + lost.host) != std::string::npos;
      });
      if (is_told) continue;
    }
    tell(std::move(finding));
  }
}

/// Who has an error of its own is where it began; "remote process error" is what the others see.
void Judge::look_at_errors(const World& world, const Communicator& communicator) {
  int own = 0;
  int echoes = 0;
  for (const ErrorGroup& group : communicator.errors) {
    (group.code == kRemote ? echoes : own) += group.count;
  }
  for (const ErrorGroup& group : communicator.errors) {
    if (group.code == kRemote) {
      tell_echo(world, communicator, group, own == 0);
    } else {
      tell_error(world, communicator, group, echoes);
    }
  }
}

void Judge::tell_echo(const World& world, const Communicator& communicator, const ErrorGroup& group,
                      bool alone) {
  Finding finding;
  finding.id = Fingerprint::nccl_remote_error;
  finding.text = several(group.count, "rank") + " of " + std::to_string(communicator.size) +
                 " saw the other end of a connection go";
  // All saw it but one, which therefore is the one that they saw.
  const std::set<int> echo(group.ranks.begin(), group.ranks.end());
  const auto count = static_cast<int>(echo.size());
  if (alone && count == group.count && count == communicator.size - 1 && count > 1) {
    int odd = 0;
    while (echo.contains(odd)) ++odd;
    const Rank rank = rank_of(communicator, odd);
    finding.text += "; all but " + world.text_of(communicator, rank);
    finding.initiating = true;
    finding.rank = world.of(communicator, rank);
    finding.host = world.report().host_of(rank);
  }
  tell(std::move(finding));
}

void Judge::tell_error(const World& world, const Communicator& communicator,
                       const ErrorGroup& group, int echoes) {
  Finding finding;
  finding.id = class_of_error(group);
  const std::string what = group.at_init ? " failed to make its communicator: " : " reports: ";
  const auto named = static_cast<int>(group.ranks.size());
  if (named != group.count || !are_few(group.ranks.size(), communicator.size)) {
    finding.text = several(group.count, "rank") + " of " + std::to_string(communicator.size) +
                   what + group.word;
    return tell(std::move(finding));
  }
  for (const int number : group.ranks) {
    const Rank rank = rank_of(communicator, number);
    Finding one = finding;
    one.initiating = true;
    one.rank = world.of(communicator, rank);
    one.host = world.report().host_of(rank);
    one.text = world.text_of(communicator, rank) + what + group.word;
    if (echoes > 0) one.text += "; " + several(echoes, "rank") + " saw it go";
    tell(std::move(one));
  }
}

/// Behind in everything is late; ahead in something is another program than that of the others.
void Judge::look_at_counts(const World& world, const Communicator& communicator) {
  std::map<int, Odd> odd;
  int unnamed = 0;
  std::string unnamed_key;
  const bool is_lag = are_nested(communicator.differences);
  for (const Difference& difference : communicator.differences) {
    const std::string what =
        difference.operation.empty() ? "operation " : difference.operation + " ";
    for (const Difference::Standing& one : difference.odd) {
      Odd& entry = odd[one.rank];
      // Where the others stand is no part of the key: they may go on.
      entry.key += what + std::to_string(one.count) + " ";
      entry.text += (entry.text.empty() ? "" : ", ") + what + std::to_string(one.count) + " of " +
                    std::to_string(difference.usual);
      entry.is_ahead = entry.is_ahead || one.count > difference.usual;
    }
    if (difference.unnamed == 0) continue;
    unnamed = std::max(unnamed, difference.unnamed);
    unnamed_key += what + std::to_string(difference.usual) + " ";
  }
  if (unnamed == 0 && are_few(odd.size(), communicator.size)) {
    for (const auto& [number, entry] : odd) tell_odd(world, communicator, number, entry);
    return;
  }
  const int count = static_cast<int>(odd.size()) + unnamed;
  std::string key = unnamed_key;
  for (const auto& [rank, entry] : odd) key += std::to_string(rank) + ":" + entry.key;
  if (count == 0 || !lasts({communicator.hash, "counts", key})) return;
  Finding finding;
  finding.id = is_lag ? Fingerprint::nccl_watchdog_timeout : Fingerprint::collective_desync;
  finding.text = several(count, "rank") + " of " + std::to_string(communicator.size) +
                 (is_lag ? " stand behind the others and do not move"
                         : " launched different collectives and do not move");
  tell(std::move(finding));
}

void Judge::tell_odd(const World& world, const Communicator& communicator, int number,
                     const Odd& odd) {
  if (!lasts({communicator.hash, "counts " + std::to_string(number), odd.key})) return;
  const Rank rank = rank_of(communicator, number);
  Finding finding;
  finding.id = odd.is_ahead ? Fingerprint::collective_desync : Fingerprint::nccl_watchdog_timeout;
  finding.initiating = true;
  finding.rank = world.of(communicator, rank);
  finding.host = world.report().host_of(rank);
  finding.text = world.text_of(communicator, rank) +
                 (odd.is_ahead ? " launched what the others did not and does not move: "
                               : " stands behind the others and does not move: ") +
                 odd.text;
  tell(std::move(finding));
}

/// The others wait in it for whoever never came; RAS knows only those that came.
void Judge::look_at_init(const World& world) {
  for (const Communicator& communicator : world.report().communicators) {
    if (communicator.state != State::init || world.report().format != Report::Format::json)
      continue;
    if (!lasts({communicator.hash, "init", ""}, kInit)) continue;
    std::set<int> here;
    for (const Rank& rank : communicator.ranks) here.insert(rank.rank);
    const int absent = communicator.size - static_cast<int>(here.size());
    Finding finding;
    finding.id = Fingerprint::nccl_init_failed;
    finding.text = "a communicator of " + std::to_string(communicator.size) +
                   " ranks is being made for over a minute";
    if (absent == 1) {
      int who = 0;
      while (here.contains(who)) ++who;
      Rank rank;
      rank.rank = who;
      finding.initiating = true;
      finding.rank = world.of(communicator, rank);
      finding.text += ": rank " + std::to_string(who) + " did not come";
    } else if (absent > 1) {
      finding.text += ": " + several(absent, "rank") + " did not come";
    }
    tell(std::move(finding));
  }
  for (const Group& group : world.report().groups) {
    if (group.state != State::init) continue;
    const std::string what = std::to_string(group.size);
    if (!lasts({"", "init", what}, kInit)) continue;
    Finding finding;
    finding.id = Fingerprint::nccl_init_failed;
    finding.text = "a communicator of " + what + " ranks is being made for over a minute";
    tell(std::move(finding));
  }
}

}  // namespace collwatch::ras
