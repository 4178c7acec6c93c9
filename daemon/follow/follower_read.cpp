// SPDX-License-Identifier: Apache-2.0
//
// Reading what is new: by turns, within the glob's budget and that of all.
#include <algorithm>
#include <utility>

#include "daemon/follow/follower.h"

namespace collwatch::follow {
namespace {

using base::Millis;
using base::TimePoint;

constexpr Millis kHoldPartial{2000};
constexpr Millis kTellAgain{1000};
constexpr std::size_t kPerFile = std::size_t{256} << 10;  ///< in one poll
constexpr std::size_t kPerPoll = std::size_t{4} << 20;
constexpr std::int64_t kSkipAfterSeconds = 30;  ///< of reading at the file's share
constexpr std::int64_t kKeepSeconds = 5;

}  // namespace

FollowedFile::Take Follower::taking(const Followed& followed) const {
  return [this, &followed](std::string_view text, std::int64_t first_line, bool ends_line) {
    handlers_.text({followed.file->identity(), followed.path, text, first_line, ends_line, false});
  };
}

bool Follower::poll(TimePoint now) {
  bool is_more = false;
  std::size_t room = kPerPoll;
  // Beginning behind the one that was served last, so that none starves while a budget is short.
  std::vector<std::map<FileIdentity, Followed>::iterator> order;
  for (auto it = files_.begin(); it != files_.end(); ++it) order.push_back(it);
  const auto first = std::find_if(order.begin(), order.end(),
                                  [&](const auto& it) { return it->first > served_last_; });
  std::rotate(order.begin(), first, order.end());
  for (const auto& it : order) {
    is_more = read(it->second, now, room) || is_more;
    tell(it->second, now);
  }
  stats_.lag = 0;
  behind_ = 0;
  for (Glob& glob : globs_) glob.behind = 0;
  for (const auto& [identity, followed] : files_) {
    if (followed.unread <= 0) continue;
    stats_.lag += static_cast<std::uint64_t>(followed.unread);
    ++behind_;
    ++globs_[followed.glob].behind;
  }
  is_behind_ = behind_ > 0;
  stats_.lag += waiting_bytes_;
  return is_more;
}

std::int64_t Follower::share(const Glob& glob) const {
  const std::uint64_t of_glob = glob.budget.per_second() / std::max<std::size_t>(1, glob.behind);
  const std::uint64_t of_all = budget_.per_second() / std::max<std::size_t>(1, behind_);
  constexpr std::uint64_t kMost = std::uint64_t{1} << 40;
  return static_cast<std::int64_t>(std::clamp<std::uint64_t>(std::min(of_glob, of_all), 1, kMost));
}

/// What would take so long to read that it would be old news is given up, but for its end.
void Follower::skip_too_much(Followed& followed) {
  const std::int64_t rate = share(globs_[followed.glob]);
  if (followed.unread <= kSkipAfterSeconds * rate) return;
  const std::int64_t skipped = followed.file->skip(kKeepSeconds * rate);
  stats_.skipped += static_cast<std::uint64_t>(skipped);
  followed.unread -= skipped;
  handlers_.broken_off(followed.file->identity());
}

bool Follower::read(Followed& followed, TimePoint now, std::size_t& room) {
  FollowedFile& file = *followed.file;
  if (followed.is_shared && !plan_.shared_files) return false;
  const FollowedFile::Look look = file.look();
  if (look.restarted) handlers_.broken_off(file.identity());
  followed.unread = look.unread;
  skip_too_much(followed);
  ByteBudget& budget = globs_[followed.glob].budget;
  const FollowedFile::Take take = taking(followed);
  std::size_t taken = 0;
  while (followed.unread > 0 && taken < kPerFile && room > 0) {
    const std::size_t most = std::min({static_cast<std::size_t>(followed.unread), kPerFile - taken,
                                       room, budget.left(now), budget_.left(now)});
    const std::size_t got = most == 0 ? 0 : file.read(most, take);
    if (got == 0) break;
    served_last_ = file.identity();
    budget.spend(got);
    budget_.spend(got);
    taken += got;
    room -= std::min(room, got);
    followed.unread -= static_cast<std::int64_t>(got);
    stats_.bytes += got;
  }
  if (taken > 0 || !file.is_holding()) followed.held_since = now;
  if (file.is_holding() && now - followed.held_since >= kHoldPartial) file.flush(take);
  return followed.unread > 0 && taken > 0 && budget.left(now) > 0 && budget_.left(now) > 0;
}

void Follower::tell(Followed& followed, TimePoint now) {
  if (!followed.told || now - followed.told_at >= kTellAgain) tell_now(followed, now);
}

void Follower::tell_now(Followed& followed, TimePoint now) {
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

}  // namespace collwatch::follow
