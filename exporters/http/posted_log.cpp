// SPDX-License-Identifier: Apache-2.0
//
// memfd: seekable, so that the reader needs nobody to feed it; gone with its last descriptor.
#include "exporters/http/posted_log.h"

#include <sys/mman.h>
#include <unistd.h>

#include <cerrno>
#include <utility>

namespace collwatch::exporters {

std::shared_ptr<PostedLog> PostedLog::create(std::size_t most_bytes, TimePoint now) {
  const int fd = memfd_create("collwatch-posted-log", MFD_CLOEXEC);
  if (fd < 0) return nullptr;
  return std::shared_ptr<PostedLog>(new PostedLog(fd, most_bytes, now));
}

PostedLog::~PostedLog() {
  if (fd_ >= 0) ::close(fd_);
}

void PostedLog::drop() {
  ::close(std::exchange(fd_, -1));
}

bool PostedLog::is_too_slow(TimePoint now, std::chrono::milliseconds grace,
                            std::size_t least_bytes_per_second) const {
  const std::chrono::duration<double> counted = now - began_ - grace;
  return static_cast<double>(size_) < counted.count() * static_cast<double>(least_bytes_per_second);
}

void PostedLog::append(const char* bytes, std::size_t count) {
  size_ += count;
  if (fd_ < 0) return;
  if (size_ > most_bytes_) {
    is_too_large_ = true;
    return drop();
  }
  while (count > 0) {
    const ssize_t written = ::write(fd_, bytes, count);
    if (written < 0 && errno == EINTR) continue;
    if (written <= 0) {
      is_lost_ = true;
      return drop();
    }
    bytes += written;
    count -= static_cast<std::size_t>(written);
  }
}

int PostedLog::take() {
  ::lseek(fd_, 0, SEEK_SET);
  return std::exchange(fd_, -1);
}

void PostedLog::wait(std::function<void()> wake) {
  {
    const std::lock_guard lock(mutex_);
    if (!reply_) {
      wake_ = std::move(wake);
      return;
    }
  }
  wake();
}

void PostedLog::answer(Reply reply) {
  std::function<void()> wake;
  {
    const std::lock_guard lock(mutex_);
    if (reply_) return;
    reply_ = std::move(reply);
    wake = std::exchange(wake_, nullptr);
  }
  if (wake) wake();
}

std::optional<Reply> PostedLog::reply() const {
  const std::lock_guard lock(mutex_);
  return reply_;
}

}  // namespace collwatch::exporters
