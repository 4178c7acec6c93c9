// SPDX-License-Identifier: Apache-2.0
//
// One log on its way through POST /api/v1/diagnose: it is written to a file in memory as it comes
// (never larger than the limit), handed to whoever diagnoses it, and waits for the answer. Filled
// on the HTTP thread; answered from any.
#pragma once

#include <chrono>
#include <cstddef>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>

#include "exporters/http/pages.h"

namespace collwatch::exporters {

class PostedLog {
 public:
  using TimePoint = std::chrono::steady_clock::time_point;

  /// Null: no descriptor, or no memory, for it.
  static std::shared_ptr<PostedLog> create(std::size_t most_bytes, TimePoint now);
  ~PostedLog();
  PostedLog(const PostedLog&) = delete;
  PostedLog& operator=(const PostedLog&) = delete;

  void append(const char* bytes, std::size_t count);
  std::size_t size() const { return size_; }
  /// More came than is allowed, or than could be stored; nothing of it is kept.
  bool is_too_large() const { return is_too_large_; }
  bool is_lost() const { return is_lost_; }

  /// Less has come by now than whoever sends a log must manage.
  bool is_too_slow(TimePoint now, std::chrono::milliseconds grace,
                   std::size_t least_bytes_per_second) const;

  /// Rewound; the caller's from now on.
  int take();

  /// `wake` is called once, when there is an answer: from whichever thread gives it, at once if
  /// there is one already.
  void wait(std::function<void()> wake);
  /// The first one counts.
  void answer(Reply reply);
  std::optional<Reply> reply() const;

 private:
  PostedLog(int fd, std::size_t most_bytes, TimePoint began)
      : fd_(fd), most_bytes_(most_bytes), began_(began) {}
  void drop();

  int fd_;
  std::size_t most_bytes_;
  TimePoint began_;
  std::size_t size_ = 0;
  bool is_too_large_ = false;
  bool is_lost_ = false;
  mutable std::mutex mutex_;
  std::optional<Reply> reply_;
  std::function<void()> wake_;
};

}  // namespace collwatch::exporters
