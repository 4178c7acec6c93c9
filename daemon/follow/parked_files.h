// SPDX-License-Identifier: Apache-2.0
//
// Files that are known and not held open: read to their end and left alone for long, or waiting for
// a place. Each costs a look at its name now and then; when it has grown it gets a place again, and
// is read on from where it was. Bounded: of more than kMostParked those go that were written to
// longest ago, and all that is as old as they counts as settled from then on. Used by the follower;
// plain state, no file is touched.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <utility>
#include <vector>

#include "daemon/base/event_loop.h"
#include "daemon/follow/followed_file.h"
#include "probes/wire/watch_message.h"

namespace collwatch::follow {

struct ParkedFile {
  static constexpr std::size_t kNoGlob = static_cast<std::size_t>(-1);

  wire::FilePosition position;
  std::int64_t read_to = 0;    ///< beyond `position` by an unfinished last line that was seen
  std::size_t glob = kNoGlob;   ///< kNoGlob: remembered, not found again yet
  std::int64_t size = -1;       ///< at the last look; -1: not looked at
  std::int64_t changed_ns = 0;  ///< likewise, by its file system's clock
  bool is_present = true;       ///< the last look of its glob found it
  base::TimePoint missing_since{};
  std::optional<base::TimePoint> waiting_since;  ///< for a place: there are lines to read

  std::int64_t unread() const { return size > read_to ? size - read_to : 0; }
};

class ParkedFiles {
 public:
  static constexpr std::size_t kMostParked = wire::kMostKnownFiles - wire::kMostFollowedFiles;

  /// Those that had to go for it, this one itself perhaps.
  std::vector<std::pair<FileIdentity, ParkedFile>> park(const FileIdentity& file,
                                                        ParkedFile parked);
  /// Not for `changed_ns`, which orders them: park() it anew.
  ParkedFile* find(const FileIdentity& file);
  std::optional<ParkedFile> take(const FileIdentity& file);
  /// Takes out all of which `is_over` is true.
  template <typename IsOver>
  std::vector<std::pair<FileIdentity, ParkedFile>> take_if(const IsOver& is_over) {
    std::vector<std::pair<FileIdentity, ParkedFile>> taken;
    for (auto it = files_.begin(); it != files_.end();) {
      if (!is_over(it->second)) {
        ++it;
        continue;
      }
      by_age_.erase({it->second.changed_ns, it->first});
      taken.emplace_back(it->first, std::move(it->second));
      it = files_.erase(it);
    }
    return taken;
  }

  std::map<FileIdentity, ParkedFile>& all() { return files_; }
  const std::map<FileIdentity, ParkedFile>& all() const { return files_; }
  /// Whether something changed so long ago would have to go at once.
  bool is_too_old(std::int64_t changed_ns) const;

  /// What was last changed by then and is not known is settled: it was dropped here once, or is
  /// older than what was.
  std::int64_t settled_ns() const { return settled_ns_; }
  void settle(std::int64_t changed_ns);

 private:
  std::map<FileIdentity, ParkedFile> files_;
  std::set<std::pair<std::int64_t, FileIdentity>> by_age_;
  std::int64_t settled_ns_ = 0;
};

}  // namespace collwatch::follow
