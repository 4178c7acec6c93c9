// SPDX-License-Identifier: Apache-2.0
//
// One write(2) a line on an O_APPEND descriptor; everything that can fail is tried anew at the next
// line.
#include "exporters/jsonl/rotating_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <utility>

namespace collwatch::exporters {
namespace {

using model::ErrorCode;
using model::fail;
using model::from_errno;
using model::Result;

ssize_t write_once(int fd, const std::string& bytes) {
  ssize_t written = 0;
  do {
    written = ::write(fd, bytes.data(), bytes.size());
  } while (written < 0 && errno == EINTR);
  return written;
}

std::string folder_of(const std::string& path) {
  const std::size_t slash = path.rfind('/');
  if (slash == std::string::npos) return ".";
  return slash == 0 ? "/" : path.substr(0, slash);
}

}  // namespace

Result<RotatingFile> RotatingFile::open(std::string path, std::uint64_t max_bytes) {
  RotatingFile file(std::move(path), max_bytes);
  auto opened = file.reopen();
  if (!opened) return fail(std::move(opened).error());
  if (file.regular_ && ::access(folder_of(file.path_).c_str(), W_OK) != 0) {
    return fail(from_errno("cannot rotate '" + file.path_ + "'", errno));
  }
  return file;
}

RotatingFile::RotatingFile(RotatingFile&& other) noexcept
    : path_(std::move(other.path_)),
      max_bytes_(other.max_bytes_),
      fd_(std::exchange(other.fd_, -1)),
      regular_(other.regular_),
      size_(other.size_),
      line_is_open_(other.line_is_open_) {}

RotatingFile::~RotatingFile() {
  close_file();
}

void RotatingFile::close_file() {
  if (fd_ >= 0) ::close(fd_);
  fd_ = -1;
}

Result<void> RotatingFile::reopen() {
  close_file();
  // O_NONBLOCK: a FIFO that nobody reads must fail here instead of blocking. RDWR for the look at
  // the last byte.
  const int flags = O_RDWR | O_APPEND | O_CREAT | O_CLOEXEC | O_NONBLOCK | O_NOCTTY;
  const int fd = ::open(path_.c_str(), flags, 0640);
  if (fd < 0) return fail(from_errno("cannot open '" + path_ + "'", errno));
  fd_ = fd;

  struct stat info {};
  if (::fstat(fd, &info) != 0) return fail(from_errno("cannot look at '" + path_ + "'", errno));
  regular_ = S_ISREG(info.st_mode);
  if (!regular_ && !S_ISCHR(info.st_mode)) {
    close_file();
    return fail(ErrorCode::invalid_argument, "cannot write to '" + path_ + "': not a regular file");
  }
  size_ = regular_ ? static_cast<std::uint64_t>(info.st_size) : 0;
  char last = '\n';
  const bool readable = size_ > 0 && ::pread(fd, &last, 1, info.st_size - 1) == 1;
  line_is_open_ = readable && last != '\n';
  return {};
}

bool RotatingFile::was_moved_away() const {
  struct stat ours {};
  struct stat named {};
  if (::fstat(fd_, &ours) != 0 || ::stat(path_.c_str(), &named) != 0) return true;
  return ours.st_dev != named.st_dev || ours.st_ino != named.st_ino;
}

bool RotatingFile::make_room_for(std::size_t bytes) {
  if (!regular_ || size_ == 0 || size_ + bytes <= max_bytes_) return true;
  if (std::rename(path_.c_str(), (path_ + ".1").c_str()) != 0) return false;
  return reopen().has_value();
}

bool RotatingFile::append(std::string_view line) {
  if ((fd_ < 0 || was_moved_away()) && !reopen()) return false;
  if (!make_room_for(line.size() + 1)) return false;

  std::string bytes;
  if (line_is_open_) bytes += '\n';
  bytes += line;
  bytes += '\n';
  const ssize_t written = write_once(fd_, bytes);
  if (written == static_cast<ssize_t>(bytes.size())) {
    size_ += bytes.size();
    line_is_open_ = false;
    return true;
  }
  if (written > 0 && regular_) {
    // Half a line is worse than none.
    if (::ftruncate(fd_, static_cast<off_t>(size_)) == 0) return false;
    size_ += static_cast<std::uint64_t>(written);
    line_is_open_ = true;
  }
  return false;
}

}  // namespace collwatch::exporters
