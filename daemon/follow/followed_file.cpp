// SPDX-License-Identifier: Apache-2.0
//
// fstat for what there is, pread for what is new. A file is told from another one with its inode,
// and from itself written anew, by a hash of its first bytes.
#include "daemon/follow/followed_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>

#include "daemon/follow/open_log.h"

namespace collwatch::follow {
namespace {

constexpr std::size_t kHead = 256;
constexpr std::int64_t kCountLinesBelow = 4LL << 20;
constexpr std::size_t kShortBack = std::size_t{4} << 10;
constexpr std::size_t kReadAtOnce = std::size_t{64} << 10;

std::uint64_t hash_of(std::string_view bytes) {  // FNV-1a
  std::uint64_t hash = 1469598103934665603ULL;
  for (const char c : bytes) hash = (hash ^ static_cast<unsigned char>(c)) * 1099511628211ULL;
  return hash;
}

std::int64_t newlines_in(std::string_view text) {
  return std::count(text.begin(), text.end(), '\n');
}

std::int64_t born_of(int fd) {
  struct statx info {};
  if (::statx(fd, "", AT_EMPTY_PATH, STATX_BTIME, &info) != 0) return 0;
  if ((info.stx_mask & STATX_BTIME) == 0) return 0;
  return info.stx_btime.tv_sec * 1000LL + info.stx_btime.tv_nsec / 1000000;
}

}  // namespace

FollowedFile::FollowedFile(supervise::UniqueFd fd, FileIdentity identity, std::int64_t born_ms)
    : fd_(std::move(fd)), identity_(identity), born_ms_(born_ms) {}

model::Result<std::unique_ptr<FollowedFile>> FollowedFile::open(const std::string& path) {
  auto fd = open_log(path);
  if (!fd) return model::fail(fd.error());
  const int raw = fd->get();
  struct stat info {};
  if (::fstat(raw, &info) != 0) return model::fail(model::from_errno("stat " + path, errno));
  return std::unique_ptr<FollowedFile>(
      new FollowedFile(std::move(*fd), {info.st_dev, info.st_ino}, born_of(raw)));
}

std::string FollowedFile::read_at(std::int64_t from, std::size_t most) const {
  std::string bytes(most, '\0');
  std::size_t used = 0;
  while (used < most) {
    const ssize_t got = ::pread(fd_.get(), bytes.data() + used, most - used,
                                from + static_cast<std::int64_t>(used));
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) break;
    used += static_cast<std::size_t>(got);
  }
  bytes.resize(used);
  return bytes;
}

void FollowedFile::start_over() {
  offset_ = 0;
  line_ = 1;
  is_past_line_end_ = true;
  head_bytes_ = 0;
  cutter_.clear();
}

bool FollowedFile::same_head() {
  if (head_bytes_ == kHead && size_ < static_cast<std::int64_t>(kHead)) return false;
  const std::string head = read_at(0, kHead);
  if (head.size() < head_bytes_) return false;
  const bool same =
      head_bytes_ == 0 || hash_of(std::string_view(head).substr(0, head_bytes_)) == head_hash_;
  if (same && head.size() > head_bytes_) {
    head_bytes_ = static_cast<std::uint32_t>(head.size());
    head_hash_ = hash_of(head);
  }
  return same;
}

FollowedFile::Look FollowedFile::look() {
  struct stat info {};
  if (::fstat(fd_.get(), &info) != 0) return {};
  const std::int64_t changed = info.st_mtim.tv_sec * 1000000000LL + info.st_mtim.tv_nsec;
  Look found;
  if (info.st_size != size_ || changed != changed_ns_) {
    size_ = info.st_size;
    changed_ns_ = changed;
    if (size_ < offset_ || !same_head()) {
      found.restarted = offset_ > 0;
      start_over();
      same_head();
    }
  }
  found.unread = std::max<std::int64_t>(0, size_ - offset_);
  return found;
}

std::string FollowedFile::pass_over(std::int64_t back) {
  look();
  const std::int64_t end = size_;
  const std::int64_t from = std::max<std::int64_t>(0, end - back);
  std::string context = read_at(from, static_cast<std::size_t>(end - from));
  const std::size_t last = context.rfind('\n');
  const std::size_t whole = last == std::string::npos ? 0 : last + 1;
  // An unfinished last line is read when its rest comes, so that it can be understood.
  offset_ = from + static_cast<std::int64_t>(whole);
  line_ = offset_ == 0 ? 1 : 0;
  context.resize(whole);
  if (from > 0) {
    const std::size_t begin = context.find('\n');
    context.erase(0, begin == std::string::npos ? context.size() : begin + 1);
  }
  return context;
}

void FollowedFile::start_at_end_unread() {
  pass_over(static_cast<std::int64_t>(kShortBack));
}

std::string FollowedFile::start_at_end(std::int64_t& first_line) {
  std::string context = pass_over(static_cast<std::int64_t>(kContext));
  if (offset_ <= kCountLinesBelow) {
    line_ = 1;
    for (std::int64_t at = 0; at < offset_;) {
      const auto most =
          std::min<std::int64_t>(static_cast<std::int64_t>(kReadAtOnce), offset_ - at);
      const std::string part = read_at(at, static_cast<std::size_t>(most));
      if (part.empty()) break;
      line_ += newlines_in(part);
      at += static_cast<std::int64_t>(part.size());
    }
  }
  first_line = line_ == 0 ? 0 : line_ - newlines_in(context);
  return context;
}

bool FollowedFile::resume(const wire::FilePosition& position) {
  head_bytes_ = position.head_bytes;
  head_hash_ = position.head_hash;
  offset_ = position.offset;
  line_ = position.line;
  return !look().restarted && offset_ == position.offset;
}

std::size_t FollowedFile::read(std::size_t most, const Take& take) {
  const std::string bytes = read_at(offset_, std::min(most, kReadAtOnce));
  if (bytes.empty()) return 0;
  offset_ += static_cast<std::int64_t>(bytes.size());
  std::string_view text = bytes;
  if (!is_past_line_end_) {
    const std::size_t newline = text.find('\n');
    if (newline == std::string_view::npos) return bytes.size();
    text.remove_prefix(newline + 1);
    is_past_line_end_ = true;
  }
  cutter_.add(text, [&](std::string_view lines, bool ends) { hand_on(lines, ends, take); });
  return bytes.size();
}

void FollowedFile::flush(const Take& take) {
  cutter_.flush([&](std::string_view lines, bool ends) { hand_on(lines, ends, take); });
}

void FollowedFile::hand_on(std::string_view text, bool ends_line, const Take& take) {
  take(text, line_, ends_line);
  if (line_ > 0) line_ += newlines_in(text);
}

std::int64_t FollowedFile::skip(std::int64_t keep) {
  const std::int64_t to = std::max(offset_, size_ - keep);
  const std::int64_t skipped = to - offset_;
  if (skipped == 0) return 0;
  cutter_.clear();
  offset_ = to;
  line_ = 0;
  is_past_line_end_ = false;
  return skipped;
}

wire::FilePosition FollowedFile::position() const {
  wire::FilePosition position;
  position.device = identity_.first;
  position.inode = identity_.second;
  position.offset = offset_ - static_cast<std::int64_t>(cutter_.held());
  position.line = line_;
  position.head_bytes = head_bytes_;
  position.head_hash = head_hash_;
  return position;
}

}  // namespace collwatch::follow
