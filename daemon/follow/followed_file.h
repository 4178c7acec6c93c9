// SPDX-License-Identifier: Apache-2.0
//
// One log file that grows: held open, so that it is read to its end under whatever name it gets and
// its inode cannot be reused meanwhile. Knows how far it was read, notices when it was emptied
// (copytruncate) or written anew, and hands on whole lines. No clock of its own; the follower says
// when to look.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <utility>

#include "daemon/follow/line_cutter.h"
#include "daemon/supervise/unique_fd.h"
#include "probes/model/result.h"
#include "probes/wire/watch_message.h"

namespace collwatch::follow {

/// Device and inode: what a file is, whatever it is called.
using FileIdentity = std::pair<std::uint64_t, std::uint64_t>;

class FollowedFile {
 public:
  /// Lines, the number of the first of them (0: not known), and whether the last one is whole.
  using Take = std::function<void(std::string_view text, std::int64_t first_line, bool ends_line)>;
  struct Look {
    std::int64_t unread = 0;
    bool restarted = false;  ///< emptied or written anew: what was read is no longer in it
  };
  static constexpr std::size_t kContext = std::size_t{64} << 10;

  /// As open_log() does.
  static model::Result<std::unique_ptr<FollowedFile>> open(const std::string& path);

  FileIdentity identity() const { return identity_; }
  /// Wall clock in milliseconds, or nothing where the file system does not keep it.
  std::int64_t born_ms() const { return born_ms_; }

  /// Passes over what is there. Returns the end of it, whole lines, so that whoever reads on knows
  /// who was writing; `first_line` is that of the returned text.
  std::string start_at_end(std::int64_t& first_line);
  /// The same with as little reading as can be: for a file that is not read for now.
  void start_at_end_unread();
  /// False: this is not the file that was read so far; it begins at its start.
  bool resume(const wire::FilePosition& position);

  Look look();
  /// At the last look; the time is the file system's.
  std::int64_t size() const { return size_; }
  std::int64_t changed_ns() const { return changed_ns_; }
  /// Reads at most `most` bytes and hands on the lines that are whole by then; how many were read.
  std::size_t read(std::size_t most, const Take& take);
  /// Hands on the unfinished last line as it is.
  void flush(const Take& take);
  bool is_holding() const { return cutter_.held() > 0; }
  /// Passes over what is unread but for its last `keep` bytes; how many bytes that were.
  std::int64_t skip(std::int64_t keep);

  wire::FilePosition position() const;

 private:
  /// From so far back; the whole lines there.
  std::string pass_over(std::int64_t back);
  FollowedFile(supervise::UniqueFd fd, FileIdentity identity, std::int64_t born_ms);

  void start_over();
  /// Whether the first bytes still are what they were; learns more of them while the file is short.
  bool same_head();
  std::string read_at(std::int64_t from, std::size_t most) const;
  void hand_on(std::string_view text, bool ends_line, const Take& take);

  supervise::UniqueFd fd_;
  FileIdentity identity_;
  std::int64_t born_ms_;
  LineCutter cutter_;
  std::int64_t offset_ = 0;       ///< the next byte to read from the file
  std::int64_t line_ = 1;         ///< of the first byte that was not handed on; 0: not known
  bool is_past_line_end_ = true;  ///< false: after a skip, the rest of some line comes first
  std::int64_t size_ = 0;
  std::int64_t changed_ns_ = 0;
  std::uint32_t head_bytes_ = 0;
  std::uint64_t head_hash_ = 0;
};

}  // namespace collwatch::follow
