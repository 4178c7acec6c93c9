// SPDX-License-Identifier: Apache-2.0
//
// A file of lines that never outgrows twice its limit: when the next line would not fit, PATH
// becomes PATH.1 (the one old file that is kept) and a new PATH begins. Lines are whole: what a
// full disk cut off is taken back, or ended with a newline before the next line. Moving the file
// away (logrotate) is noticed at the next line. Used by event_log.cpp, on its thread.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "probes/model/result.h"

namespace collwatch::exporters {

class RotatingFile {
 public:
  /// Opens or creates `path` (a regular file, or a character device, which is not rotated) and
  /// checks that rotation will be possible.
  static model::Result<RotatingFile> open(std::string path, std::uint64_t max_bytes);

  RotatingFile(RotatingFile&& other) noexcept;
  RotatingFile& operator=(RotatingFile&&) = delete;
  ~RotatingFile();

  /// Appends `line` and a newline. False: this line is lost; the next call tries again from the
  /// start, opening included.
  bool append(std::string_view line);

 private:
  RotatingFile(std::string path, std::uint64_t max_bytes)
      : path_(std::move(path)), max_bytes_(max_bytes) {}
  model::Result<void> reopen();
  bool was_moved_away() const;
  bool make_room_for(std::size_t bytes);
  void close_file();

  std::string path_;
  std::uint64_t max_bytes_;
  int fd_ = -1;
  bool regular_ = true;
  std::uint64_t size_ = 0;
  bool line_is_open_ = false;  ///< the file ends in the middle of a line
};

}  // namespace collwatch::exporters
