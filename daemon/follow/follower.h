// SPDX-License-Identifier: Apache-2.0
//
// All log files of all globs: finds them, keeps them apart by inode (so rotation by renaming is
// nothing special), reads what is new within the budgets (each glob's, and one of all) and hands it
// on in whole lines. So many are held open at a time; those that were read and are written to no
// more give way to those that are (parked_files.h). On file systems that other machines share it
// reads only what a process of this host holds open, or what %h names as this host's. Time comes in
// as an argument; the world is the file system.
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
#include "daemon/follow/parked_files.h"
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
    std::size_t places = wire::kMostFollowedFiles;  ///< files that are held open at a time
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
    std::uint64_t waiting = 0;  ///< files with something to read and no place, as of the last scan
  };
  /// What all plans have in common.
  struct Plan {
    bool shared_files = true;
    std::uint64_t bytes_per_second = std::uint64_t{1} << 40;  ///< of all files together
    std::int64_t settled_ns = 0;  ///< unknown files that were last changed by then are left alone
  };

  Follower(Surroundings surroundings, Handlers handlers);

  /// Where a file was read to in an earlier life; before the first look at its glob.
  void remember(const wire::FilePosition& position);
  /// From now on these; files that no glob means any more are dropped.
  void set_globs(const std::vector<wire::WatchGlob>& globs, const Plan& plan);

  /// Looks which files there are, where that is due (seldom on shared file systems).
  void scan(base::TimePoint now);
  /// Something came, went or was renamed: the next scan() looks at all that is local.
  void scan_soon();
  /// Reads what is new; true: there is more to read right now.
  bool poll(base::TimePoint now);
  /// The last poll left something that a budget did not allow.
  bool is_behind() const { return is_behind_; }

  const Stats& stats() const { return stats_; }
  std::size_t files() const { return files_.size(); }
  std::size_t parked() const { return parked_.all().size(); }
  std::int64_t settled_ns() const { return parked_.settled_ns(); }
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
    bool is_cut = false;        ///< there was too much to look through
    bool is_large = false;      ///< looking takes long: not for every change
    ByteBudget budget{0};
    std::size_t behind = 0;  ///< files that the last poll did not read to their end
    base::TimePoint next_scan{};
    std::string unreadable;  ///< the first file that could not be opened, and why
  };
  struct Followed {
    std::unique_ptr<FollowedFile> file;
    std::string path;
    std::size_t glob = 0;
    bool is_present = true;  ///< the last scan of its glob found it
    bool is_shared = false;
    std::int64_t unread = -1;  ///< at the last poll; -1: there was none yet
    base::TimePoint placed_at{};
    base::TimePoint missing_since{};
    base::TimePoint held_since{};
    std::optional<wire::FilePosition> told;
    base::TimePoint told_at{};
  };

  /// A file without a place that may want one.
  struct Candidate {
    std::string path;
    FileIdentity identity;
    std::int64_t size = 0;
    std::int64_t changed_ns = 0;
  };

  // follower.cpp
  void scan(std::size_t index, base::TimePoint now);
  std::vector<Candidate> look_for(std::size_t index, base::TimePoint now);
  void found(std::size_t index, const std::string& path, std::vector<Candidate>& candidates);
  void forget_missing(base::TimePoint now);
  void forget_parked(const FileIdentity& identity, const ParkedFile& parked);

  // follower_places.cpp
  void admit(std::size_t index, std::vector<Candidate> candidates, base::TimePoint now);
  bool make_room(const Candidate& candidate, base::TimePoint now);
  void follow(std::size_t index, const Candidate& candidate, base::TimePoint now);
  void begin(Followed& followed, const Glob& glob);
  bool begins_at_end(const FollowedFile& file, const Glob& glob) const;
  void leave_waiting(std::size_t index, const Candidate& candidate, base::TimePoint now);
  void park(Followed& followed);
  void keep(const FileIdentity& identity, ParkedFile parked);

  // follower_read.cpp
  bool read(Followed& followed, base::TimePoint now, std::size_t& room);
  /// Bytes a second that a file of this glob can count on, while so many want to be read.
  std::int64_t share(const Glob& glob) const;
  void skip_too_much(Followed& followed);
  void tell(Followed& followed, base::TimePoint now);
  void tell_now(Followed& followed, base::TimePoint now);
  FollowedFile::Take taking(const Followed& followed) const;

  Surroundings surroundings_;
  Handlers handlers_;
  std::vector<Glob> globs_;
  Plan plan_;
  ByteBudget budget_{plan_.bytes_per_second};  ///< of all files together
  std::map<FileIdentity, Followed> files_;
  ParkedFiles parked_;
  FileIdentity served_last_{};
  std::size_t behind_ = 0;  ///< files that the last poll did not read to their end
  bool is_behind_ = false;
  std::uint64_t waiting_bytes_ = 0;
  Stats stats_;
};

}  // namespace collwatch::follow
