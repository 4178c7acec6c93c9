// SPDX-License-Identifier: Apache-2.0
//
// All log files of all globs: finds them, keeps them apart by inode (so rotation by renaming is
// nothing special), reads what is new within each glob's budget and hands it on in whole lines. On
// file systems that other machines share it reads only what a process of this host holds open, or
// what %h names as this host's. Time comes in as an argument; the world is the file system.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "daemon/follow/byte_budget.h"
#include "daemon/follow/followed_file.h"
#include "probes/wire/watch_message.h"

namespace collwatch::follow {

/// Lines of one file.
struct FollowedText {
  FileIdentity file;
  const std::string& path;
  std::string_view text;
  std::int64_t first_line = 0;  ///< 0: not known
  bool ends_line = true;        ///< false: the last line's rest follows
  bool is_context = false;      ///< was there before anybody watched: for orientation alone
};

class Follower {
 public:
  struct Surroundings {
    std::string host;
    std::function<bool(const std::string& path)> is_shared;
    std::function<std::set<std::string>()> open_here;
  };
  struct Handlers {
    std::function<void(const FollowedText&)> text;
    /// Its lines do not continue those before: it was emptied, or some were skipped.
    std::function<void(FileIdentity)> broken_off;
    std::function<void(const wire::FilePosition&)> moved;  ///< at most once a second for a file
    std::function<void(FileIdentity)> forgotten;
  };
  struct Stats {
    std::uint64_t bytes = 0;    ///< read
    std::uint64_t skipped = 0;  ///< bytes given up
    std::uint64_t lag = 0;      ///< bytes that wait, as of the last poll
  };

  Follower(Surroundings surroundings, Handlers handlers);

  /// Where a file was read to in an earlier life; before the first look at its glob.
  void remember(const wire::FilePosition& position);
  /// From now on these; files that no glob means any more are dropped.
  void set_globs(const std::vector<wire::WatchGlob>& globs, bool shared_files);

  /// Looks which files there are, where that is due (seldom on shared file systems).
  void scan(base::TimePoint now);
  /// Something came, went or was renamed: the next scan() looks at all that is local.
  void scan_soon();
  /// Reads what is new; true: there is more to read right now.
  bool poll(base::TimePoint now);

  const Stats& stats() const { return stats_; }
  std::size_t files() const { return files_.size(); }
  /// Local folders in which something may happen.
  std::set<std::string> folders() const;
  /// What is not read, and why, a sentence each.
  std::vector<std::string> troubles() const;

 private:
  struct Glob {
    wire::WatchGlob wanted;
    std::string pattern;
    bool is_shared = false;
    bool is_looked_at = false;  ///< by this process, once at least
    bool is_crowded = false;
    bool is_cut = false;  ///< there was too much to look through
    ByteBudget budget{0};
    base::TimePoint next_scan{};
    std::string unreadable;  ///< the first file that could not be opened, and why
  };
  struct Followed {
    std::unique_ptr<FollowedFile> file;
    std::string path;
    std::size_t glob = 0;
    bool is_present = true;  ///< the last scan of its glob found it
    bool is_shared = false;
    base::TimePoint missing_since{};
    base::TimePoint held_since{};
    std::optional<wire::FilePosition> told;
    base::TimePoint told_at{};
  };

  void scan(std::size_t index, base::TimePoint now);
  void found(std::size_t index, const std::string& path, base::TimePoint now);
  void begin(Followed& followed, const Glob& glob);
  void forget_missing(base::TimePoint now);
  bool read(Followed& followed, base::TimePoint now, std::size_t& room);
  void tell(Followed& followed, base::TimePoint now);
  FollowedFile::Take taking(const Followed& followed) const;

  Surroundings surroundings_;
  Handlers handlers_;
  std::vector<Glob> globs_;
  bool shared_files_ = true;
  std::map<FileIdentity, Followed> files_;
  std::map<FileIdentity, wire::FilePosition> remembered_;
  FileIdentity served_last_{};
  Stats stats_;
};

}  // namespace collwatch::follow
