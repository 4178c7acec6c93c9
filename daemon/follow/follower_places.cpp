// SPDX-License-Identifier: Apache-2.0
//
// Who holds a place. Files are ranked by when they were last written to, by their file system's
// clock. A place is given up by a file that was read to its end and not written to for a while
// before the newcomer was; then by one that is gone; then, where all are busy, by turns.
#include <algorithm>
#include <utility>

#include "daemon/follow/follower.h"

namespace collwatch::follow {
namespace {

using base::Millis;
using base::TimePoint;

constexpr std::int64_t kIdleNs = 10LL * 1000000000;
constexpr Millis kTurn{10000};
constexpr std::int64_t kClockGrain = 10;  ///< ms by which the kernel's stamps may lag the clock

}  // namespace

void Follower::admit(std::size_t index, std::vector<Candidate> candidates, TimePoint now) {
  std::sort(candidates.begin(), candidates.end(), [](const Candidate& a, const Candidate& b) {
    return std::pair(-a.changed_ns, a.path) < std::pair(-b.changed_ns, b.path);
  });
  for (const Candidate& candidate : candidates) {
    if (files_.contains(candidate.identity)) continue;  // two names of one file
    if (files_.size() < surroundings_.places || make_room(candidate, now)) {
      follow(index, candidate, now);
    } else {
      leave_waiting(index, candidate, now);
    }
  }
}

bool Follower::make_room(const Candidate& candidate, TimePoint now) {
  const ParkedFile* const parked = parked_.find(candidate.identity);
  if (parked != nullptr && parked->size >= 0 && candidate.size == parked->read_to &&
      !parked->waiting_since) {
    return false;  // touched, and nothing to read
  }
  const bool has_waited =
      parked != nullptr && parked->waiting_since && now - *parked->waiting_since >= kTurn;
  // Lower goes first; nobody goes who has something to read.
  const auto rank = [&](const Followed& followed) {
    if (followed.unread != 0) return 3;
    if (candidate.changed_ns - followed.file->changed_ns() >= kIdleNs) return 0;
    if (!followed.is_present) return 1;
    return has_waited && now - followed.placed_at >= kTurn ? 2 : 3;
  };
  auto best = files_.end();
  std::pair<int, std::int64_t> best_rank{3, 0};
  for (auto it = files_.begin(); it != files_.end(); ++it) {
    const int own = rank(it->second);
    const std::int64_t since =
        own == 0 ? it->second.file->changed_ns() : it->second.placed_at.time_since_epoch().count();
    if (std::pair(own, since) >= best_rank) continue;
    best = it;
    best_rank = {own, since};
  }
  if (best == files_.end()) return false;
  if (best->second.is_present) {
    tell_now(best->second, now);
    park(best->second);
  } else {
    best->second.file->flush(taking(best->second));
    handlers_.forgotten(best->first);
  }
  files_.erase(best);
  return true;
}

/// Its place is free after this: what is known of it is kept.
void Follower::park(Followed& followed) {
  ParkedFile parked;
  parked.position = followed.file->position();
  parked.position.path = followed.path;
  parked.read_to = followed.file->size();
  parked.glob = followed.glob;
  parked.size = followed.file->size();
  parked.changed_ns = followed.file->changed_ns();
  handlers_.broken_off(followed.file->identity());
  keep(followed.file->identity(), std::move(parked));
}

void Follower::keep(const FileIdentity& identity, ParkedFile parked) {
  for (const auto& [gone, file] : parked_.park(identity, std::move(parked))) {
    forget_parked(gone, file);
  }
}

void Follower::follow(std::size_t index, const Candidate& candidate, TimePoint now) {
  Glob& glob = globs_[index];
  auto opened = FollowedFile::open(candidate.path);
  if (!opened) {
    if (glob.unreadable.empty()) glob.unreadable = opened.error().text;
    return;
  }
  Followed followed;
  followed.file = std::move(*opened);
  followed.path = candidate.path;
  followed.glob = index;
  followed.is_shared = glob.is_shared;
  followed.placed_at = now;
  const auto [it, is_new] = files_.try_emplace(followed.file->identity(), std::move(followed));
  if (!is_new) return;  // it was replaced between the two looks
  begin(it->second, glob);
  tell(it->second, now);
}

/// At what was read before; at the start of what is new; at the end of what was there already.
void Follower::begin(Followed& followed, const Glob& glob) {
  FollowedFile& file = *followed.file;
  if (const auto parked = parked_.take(file.identity())) {
    file.resume(parked->position);
    return;
  }
  if (!begins_at_end(file, glob)) return;
  std::int64_t first_line = 0;
  const std::string context = file.start_at_end(first_line);
  if (!context.empty()) {
    handlers_.text({file.identity(), followed.path, context, first_line, true, true});
  }
}

bool Follower::begins_at_end(const FollowedFile& file, const Glob& glob) const {
  // Nothing unknown is older than what is settled: it was known once, and read.
  const std::int64_t settled_ms = parked_.settled_ns() / 1000000;
  if (settled_ms > 0 && file.born_ms() <= settled_ms) return true;
  if (glob.is_looked_at) return false;
  return file.born_ms() == 0 || file.born_ms() + kClockGrain < glob.wanted.since_ms;
}

void Follower::leave_waiting(std::size_t index, const Candidate& candidate, TimePoint now) {
  Glob& glob = globs_[index];
  ParkedFile parked;
  if (auto known = parked_.take(candidate.identity)) {
    parked = std::move(*known);
  } else {
    if (parked_.is_too_old(candidate.changed_ns)) return parked_.settle(candidate.changed_ns);
    const auto opened = FollowedFile::open(candidate.path);
    if (!opened) {
      if (glob.unreadable.empty()) glob.unreadable = opened.error().text;
      return;
    }
    FollowedFile& file = **opened;
    if (file.identity() != candidate.identity) return;  // replaced; found by the next look
    if (begins_at_end(file, glob)) {
      file.start_at_end_unread();
      parked.read_to = file.size();
    }
    parked.position = file.position();
    parked.position.path = candidate.path;
    parked.glob = index;
    handlers_.moved(parked.position);
  }
  parked.position.path = candidate.path;
  parked.size = candidate.size;
  parked.changed_ns = candidate.changed_ns;
  if (parked.size < parked.read_to) {  // emptied, or written anew
    parked.position.offset = 0;
    parked.read_to = 0;
  }
  if (parked.unread() == 0) {
    parked.waiting_since.reset();
  } else if (!parked.waiting_since) {
    parked.waiting_since = now;
  }
  keep(candidate.identity, std::move(parked));
}

}  // namespace collwatch::follow
