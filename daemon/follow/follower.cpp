// SPDX-License-Identifier: Apache-2.0
//
// Looking and reading. A file that is no longer found under any name is read to its end, kept for a
// while (its writer may still hold it open), then forgotten.
#include "daemon/follow/follower.h"

#include <sys/stat.h>

#include <algorithm>
#include <cstdlib>
#include <utility>

#include "daemon/follow/glob.h"

namespace collwatch::follow {
namespace {

using base::Millis;
using base::TimePoint;

constexpr Millis kScanLocal{2000};
constexpr Millis kScanShared{10000};
constexpr Millis kKeepMissing{10000};
constexpr Millis kHoldPartial{2000};
constexpr Millis kTellAgain{1000};
constexpr std::size_t kPerFile = std::size_t{256} << 10;  ///< in one poll
constexpr std::size_t kPerPoll = std::size_t{4} << 20;
constexpr std::int64_t kSkipAfterSeconds = 30;  ///< of reading at full budget
constexpr std::int64_t kKeepSeconds = 5;
constexpr std::int64_t kClockGrain = 10;  ///< ms by which the kernel's stamps may lag the clock

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
  if (remembered_.size() < wire::kMostFollowedFiles)
    remembered_[{position.device, position.inode}] = position;
}

void Follower::set_globs(const std::vector<wire::WatchGlob>& globs, bool shared_files) {
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
  globs_ = std::move(fresh);
  shared_files_ = shared_files;
}

void Follower::scan_soon() {
  for (Glob& glob : globs_) {
    if (!glob.is_shared && !glob.is_cut) glob.next_scan = {};
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
  for (const auto& [identity, position] : std::exchange(remembered_, {})) {
    handlers_.forgotten(identity);
  }
}

void Follower::scan(std::size_t index, TimePoint now) {
  Glob& glob = globs_[index];
  glob.is_shared = surroundings_.is_shared(fixed_folder(glob.pattern));
  glob.next_scan = now + (glob.is_shared ? kScanShared : kScanLocal);
  glob.unreadable.clear();
  glob.is_crowded = false;
  glob.is_cut = false;
  if (glob.is_shared && !shared_files_) return;
  std::set<std::string> open_here;
  const bool only_open = glob.is_shared && !names_host(glob.wanted.glob);
  if (only_open) open_here = surroundings_.open_here();
  std::vector<std::pair<FileIdentity, bool>> before;
  for (auto& [identity, followed] : files_) {
    if (followed.glob != index) continue;
    before.emplace_back(identity, followed.is_present);
    followed.is_present = false;
  }
  const Matches matches = matching(glob.pattern, 8 * wire::kMostFollowedFiles);
  for (const std::string& path : matches.paths) {
    if (only_open && !open_here.contains(path)) continue;
    if (!is_archive(path)) found(index, path, now);
  }
  for (const auto& [identity, was_present] : before) {
    Followed& followed = files_.at(identity);
    if (matches.is_cut && !followed.is_present) found(index, std::string(followed.path), now);
    if (was_present && !followed.is_present) followed.missing_since = now;
  }
  glob.is_looked_at = true;
  glob.is_cut = matches.is_cut;
  if (glob.is_cut) glob.next_scan = now + kScanShared;
}

void Follower::found(std::size_t index, const std::string& path, TimePoint now) {
  Glob& glob = globs_[index];
  struct stat info {};
  if (::stat(path.c_str(), &info) != 0 || !S_ISREG(info.st_mode)) return;
  const auto known = files_.find({info.st_dev, info.st_ino});
  if (known != files_.end()) {
    known->second.path = path;
    known->second.is_present = true;
    return;
  }
  if (files_.size() >= wire::kMostFollowedFiles) {
    glob.is_crowded = true;
    return;
  }
  auto opened = FollowedFile::open(path);
  if (!opened) {
    if (glob.unreadable.empty()) glob.unreadable = opened.error().text;
    return;
  }
  Followed followed;
  followed.file = std::move(*opened);
  followed.path = path;
  followed.glob = index;
  followed.is_shared = glob.is_shared;
  const auto [it, is_new] = files_.try_emplace(followed.file->identity(), std::move(followed));
  if (!is_new) return;  // it was replaced between the two looks
  begin(it->second, glob);
  tell(it->second, now);
}

/// At what was read before; at the start of what is new; at the end of what was there already.
void Follower::begin(Followed& followed, const Glob& glob) {
  FollowedFile& file = *followed.file;
  const auto remembered = remembered_.find(file.identity());
  if (remembered != remembered_.end()) {
    file.resume(remembered->second);
    remembered_.erase(remembered);
    return;
  }
  const bool is_new = file.born_ms() == 0 ? glob.is_looked_at
                                          : file.born_ms() + kClockGrain >= glob.wanted.since_ms;
  if (is_new || glob.is_looked_at) return;
  std::int64_t first_line = 0;
  const std::string context = file.start_at_end(first_line);
  if (!context.empty()) {
    handlers_.text({file.identity(), followed.path, context, first_line, true, true});
  }
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
}

FollowedFile::Take Follower::taking(const Followed& followed) const {
  return [this, &followed](std::string_view text, std::int64_t first_line, bool ends_line) {
    handlers_.text({followed.file->identity(), followed.path, text, first_line, ends_line, false});
  };
}

bool Follower::poll(TimePoint now) {
  bool is_more = false;
  std::size_t room = kPerPoll;
  stats_.lag = 0;
  // Beginning behind the one that was served last, so that none starves while the budget is short.
  std::vector<std::map<FileIdentity, Followed>::iterator> order;
  for (auto it = files_.begin(); it != files_.end(); ++it) order.push_back(it);
  const auto first = std::find_if(order.begin(), order.end(),
                                  [&](const auto& it) { return it->first > served_last_; });
  std::rotate(order.begin(), first, order.end());
  for (const auto& it : order) {
    is_more = read(it->second, now, room) || is_more;
    tell(it->second, now);
  }
  return is_more;
}

bool Follower::read(Followed& followed, TimePoint now, std::size_t& room) {
  FollowedFile& file = *followed.file;
  if (followed.is_shared && !shared_files_) return false;
  const FollowedFile::Look look = file.look();
  if (look.restarted) handlers_.broken_off(file.identity());
  ByteBudget& budget = globs_[followed.glob].budget;
  std::int64_t unread = look.unread;
  const auto rate = static_cast<std::int64_t>(
      std::min<std::uint64_t>(budget.per_second(), std::uint64_t{1} << 40));
  if (unread > kSkipAfterSeconds * rate) {
    const std::int64_t skipped = file.skip(kKeepSeconds * rate);
    stats_.skipped += static_cast<std::uint64_t>(skipped);
    unread -= skipped;
    handlers_.broken_off(file.identity());
  }
  const FollowedFile::Take take = taking(followed);
  std::size_t taken = 0;
  while (unread > 0 && taken < kPerFile && room > 0) {
    const std::size_t most =
        std::min({static_cast<std::size_t>(unread), kPerFile - taken, room, budget.left(now)});
    const std::size_t got = most == 0 ? 0 : file.read(most, take);
    if (got == 0) break;
    served_last_ = file.identity();
    budget.spend(got);
    taken += got;
    room -= std::min(room, got);
    unread -= static_cast<std::int64_t>(got);
    stats_.bytes += got;
  }
  if (taken > 0 || !file.is_holding()) followed.held_since = now;
  if (file.is_holding() && now - followed.held_since >= kHoldPartial) file.flush(take);
  stats_.lag += static_cast<std::uint64_t>(std::max<std::int64_t>(0, unread));
  return unread > 0 && taken > 0 && budget.left(now) > 0;
}

void Follower::tell(Followed& followed, TimePoint now) {
  if (followed.told && now - followed.told_at < kTellAgain) return;
  wire::FilePosition position = followed.file->position();
  position.path = followed.path;
  const bool is_news = !followed.told || followed.told->offset != position.offset ||
                       followed.told->path != position.path ||
                       followed.told->head_bytes != position.head_bytes;
  if (!is_news) return;
  handlers_.moved(position);
  followed.told = std::move(position);
  followed.told_at = now;
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
    if (glob.is_crowded) {
      troubles.push_back(glob.wanted.glob + ": more than " +
                         std::to_string(wire::kMostFollowedFiles) + " files, the rest is not read");
    }
    if (glob.is_cut) {
      troubles.push_back(glob.wanted.glob + ": too much to look through, only the first " +
                         std::to_string(kMostLooks) + " names or the first second of it");
    }
    if (glob.is_shared && !shared_files_) {
      troubles.push_back(glob.wanted.glob +
                         ": left alone, its file system did not answer a moment ago");
    }
  }
  return troubles;
}

}  // namespace collwatch::follow
