// SPDX-License-Identifier: Apache-2.0
//
// Which files there are. A file that is no longer found under any name is read to its end, kept for
// a while (its writer may still hold it open), then forgotten.
#include "daemon/follow/follower.h"

#include <sys/stat.h>

#include <algorithm>
#include <string_view>
#include <utility>

#include "daemon/follow/glob.h"

namespace collwatch::follow {
namespace {

using base::Millis;
using base::TimePoint;

constexpr Millis kScanLocal{2000};
constexpr Millis kScanShared{10000};
constexpr Millis kKeepMissing{10000};
constexpr std::size_t kGone = ParkedFile::kNoGlob - 1;
constexpr std::size_t kLarge = 4096;  ///< names; looking at each costs a microsecond or two

std::string folder_of(const std::string& path) {
  const std::size_t slash = path.rfind('/');
  if (slash == std::string::npos) return ".";
  return slash == 0 ? "/" : path.substr(0, slash);
}

/// Archives of older logs: what is in them was read when it was written.
bool is_archive(std::string_view path) {
  for (const std::string_view ending : {".gz", ".zst", ".xz", ".bz2", ".lz4", ".zip", ".tar"}) {
    if (path.size() > ending.size() && path.substr(path.size() - ending.size()) == ending)
      return true;
  }
  return false;
}

}  // namespace

Follower::Follower(Surroundings surroundings, Handlers handlers)
    : surroundings_(std::move(surroundings)), handlers_(std::move(handlers)) {}

void Follower::remember(const wire::FilePosition& position) {
  ParkedFile parked;
  parked.position = position;
  parked.read_to = position.offset;
  const FileIdentity identity{position.device, position.inode};
  // Told in no order: what there is no room for is not known, and nothing is settled by that.
  if (parked_.all().size() < ParkedFiles::kMostParked) parked_.park(identity, std::move(parked));
}

void Follower::set_globs(const std::vector<wire::WatchGlob>& globs, const Plan& plan) {
  std::vector<Glob> fresh;
  std::map<std::size_t, std::size_t> place_of;  // old index -> new index
  for (const wire::WatchGlob& wanted : globs) {
    Glob glob;
    glob.wanted = wanted;
    glob.pattern = with_host(wanted.glob, surroundings_.host);
    glob.budget = ByteBudget(std::max<std::uint64_t>(1, wanted.bytes_per_second));
    for (std::size_t i = 0; i < globs_.size(); ++i) {
      if (globs_[i].wanted.glob != wanted.glob) continue;
      place_of[i] = fresh.size();
      glob.is_looked_at = globs_[i].is_looked_at;
    }
    fresh.push_back(std::move(glob));
  }
  for (auto it = files_.begin(); it != files_.end();) {
    const auto place = place_of.find(it->second.glob);
    if (place != place_of.end()) {
      it->second.glob = place->second;
      ++it;
      continue;
    }
    handlers_.forgotten(it->first);
    it = files_.erase(it);
  }
  for (auto& [identity, parked] : parked_.all()) {
    if (parked.glob == ParkedFile::kNoGlob) continue;
    const auto place = place_of.find(parked.glob);
    parked.glob = place == place_of.end() ? kGone : place->second;
  }
  for (const auto& [identity, parked] :
       parked_.take_if([](const ParkedFile& file) { return file.glob == kGone; })) {
    handlers_.forgotten(identity);
  }
  globs_ = std::move(fresh);
  if (plan.bytes_per_second != plan_.bytes_per_second) {
    budget_ = ByteBudget(std::max<std::uint64_t>(1, plan.bytes_per_second));
  }
  plan_ = plan;
  parked_.settle(plan.settled_ns);
}

void Follower::scan_soon() {
  for (Glob& glob : globs_) {
    if (!glob.is_shared && !glob.is_cut && !glob.is_large) glob.next_scan = {};
  }
}

void Follower::scan(TimePoint now) {
  bool looked = false;
  for (std::size_t i = 0; i < globs_.size(); ++i) {
    if (globs_[i].next_scan > now) continue;
    scan(i, now);
    looked = true;
    if (globs_[i].is_cut) break;  // the others' turn comes with the next call
  }
  if (looked) forget_missing(now);
  const bool all =
      std::all_of(globs_.begin(), globs_.end(), [](const Glob& glob) { return glob.is_looked_at; });
  if (!all) return;
  // What nobody asked for by now is gone; its inode may be anybody's soon.
  for (const auto& [identity, parked] :
       parked_.take_if([](const ParkedFile& file) { return file.glob == ParkedFile::kNoGlob; })) {
    handlers_.forgotten(identity);
  }
}

void Follower::scan(std::size_t index, TimePoint now) {
  Glob& glob = globs_[index];
  glob.is_shared = surroundings_.is_shared(fixed_folder(glob.pattern));
  glob.next_scan = now + (glob.is_shared ? kScanShared : kScanLocal);
  glob.unreadable.clear();
  glob.is_cut = false;
  glob.is_large = false;
  if (glob.is_shared && !plan_.shared_files) return;
  admit(index, look_for(index, now), now);
  glob.is_looked_at = true;
  if (glob.is_cut || glob.is_large) glob.next_scan = now + kScanShared;
}

/// Brings what is known up to date; those without a place that changed, or wait for one.
std::vector<Follower::Candidate> Follower::look_for(std::size_t index, TimePoint now) {
  Glob& glob = globs_[index];
  std::set<std::string> open_here;
  const bool only_open = glob.is_shared && !names_host(glob.wanted.glob);
  if (only_open) open_here = surroundings_.open_here();
  std::vector<std::pair<FileIdentity, bool>> before;
  for (auto& [identity, followed] : files_) {
    if (followed.glob != index) continue;
    before.emplace_back(identity, followed.is_present);
    followed.is_present = false;
  }
  std::vector<std::pair<ParkedFile*, bool>> parked_before;
  for (auto& [identity, parked] : parked_.all()) {
    if (parked.glob != index) continue;
    parked_before.emplace_back(&parked, parked.is_present);
    parked.is_present = false;
  }
  std::vector<Candidate> candidates;
  const Matches matches = matching(glob.pattern, kMostLooks);
  for (const std::string& path : matches.paths) {
    if (only_open && !open_here.contains(path)) continue;
    if (!is_archive(path)) found(index, path, candidates);
  }
  for (const auto& [identity, was_present] : before) {
    Followed& followed = files_.at(identity);
    if (matches.is_cut && !followed.is_present) {
      found(index, std::string(followed.path), candidates);
    }
    if (was_present && !followed.is_present) followed.missing_since = now;
  }
  for (const auto& [parked, was_present] : parked_before) {
    parked->is_present = parked->is_present || matches.is_cut;
    if (was_present && !parked->is_present) parked->missing_since = now;
  }
  glob.is_cut = matches.is_cut;
  glob.is_large = matches.paths.size() > kLarge;
  return candidates;
}

void Follower::found(std::size_t index, const std::string& path,
                     std::vector<Candidate>& candidates) {
  struct stat info {};
  if (::stat(path.c_str(), &info) != 0 || !S_ISREG(info.st_mode)) return;
  const FileIdentity identity{info.st_dev, info.st_ino};
  const auto known = files_.find(identity);
  if (known != files_.end()) {
    known->second.path = path;
    known->second.is_present = true;
    return;
  }
  const std::int64_t changed = info.st_mtim.tv_sec * 1000000000LL + info.st_mtim.tv_nsec;
  if (ParkedFile* parked = parked_.find(identity)) {
    parked->glob = index;
    parked->is_present = true;
    const bool is_as_it_was = parked->size == info.st_size && parked->changed_ns == changed;
    if (is_as_it_was && !parked->waiting_since) return;
  } else if (changed <= parked_.settled_ns()) {
    return;
  }
  candidates.push_back({path, identity, info.st_size, changed});
}

void Follower::forget_missing(TimePoint now) {
  for (auto it = files_.begin(); it != files_.end();) {
    Followed& followed = it->second;
    const bool is_over = !followed.is_present && now - followed.missing_since >= kKeepMissing &&
                         followed.file->look().unread == 0;
    if (!is_over) {
      ++it;
      continue;
    }
    followed.file->flush(taking(followed));
    handlers_.forgotten(it->first);
    it = files_.erase(it);
  }
  const auto is_over = [&](const ParkedFile& parked) {
    return !parked.is_present && now - parked.missing_since >= kKeepMissing;
  };
  for (const auto& [identity, parked] : parked_.take_if(is_over)) forget_parked(identity, parked);
  stats_.waiting = 0;
  waiting_bytes_ = 0;
  for (const auto& [identity, parked] : parked_.all()) {
    if (!parked.waiting_since) continue;
    ++stats_.waiting;
    waiting_bytes_ += static_cast<std::uint64_t>(parked.unread());
  }
}

void Follower::forget_parked(const FileIdentity& identity, const ParkedFile& parked) {
  stats_.skipped += static_cast<std::uint64_t>(parked.unread());
  handlers_.forgotten(identity);
}

std::set<std::string> Follower::folders() const {
  std::set<std::string> folders;
  for (const Glob& glob : globs_) {
    if (!glob.is_shared) folders.insert(fixed_folder(glob.pattern));
  }
  for (const auto& [identity, followed] : files_) {
    if (!followed.is_shared) folders.insert(folder_of(followed.path));
  }
  return folders;
}

std::vector<std::string> Follower::troubles() const {
  std::vector<std::string> troubles;
  for (const Glob& glob : globs_) {
    if (!glob.unreadable.empty()) troubles.push_back(glob.unreadable);
    if (glob.is_cut) {
      troubles.push_back(glob.wanted.glob + ": too much to look through, only the first " +
                         std::to_string(kMostLooks) + " names or the first second of it");
    }
    if (glob.is_shared && !plan_.shared_files) {
      troubles.push_back(glob.wanted.glob +
                         ": left alone, its file system did not answer a moment ago");
    }
  }
  if (stats_.waiting > 0) {
    troubles.push_back("more files are written to than the " +
                       std::to_string(surroundings_.places) +
                       " that are read at a time: the others wait for their turn");
  }
  return troubles;
}

}  // namespace collwatch::follow
