// SPDX-License-Identifier: Apache-2.0
//
// openat2 keeps a container's absolute links inside its root; kernels without it get no links at
// all.
#include "daemon/processes/proc_files.h"

#include <dirent.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <utility>

namespace collwatch::processes {
namespace {

constexpr std::size_t kChunk = 1 << 20;
constexpr std::size_t kLongestAfter = 64;

ReadState state_of(int error) {
  switch (error) {
    case ENOENT:
    case ESRCH:
    case ENOTDIR:
      return ReadState::gone;
    case EACCES:
    case EPERM:
      return ReadState::denied;
    default:
      return ReadState::failed;
  }
}

/// Reads on until `limit`, the end or an error; false: an error.
bool read_up_to(int fd, std::string& out, std::size_t limit) {
  std::array<char, 65536> chunk;
  while (out.size() < limit) {
    const std::size_t wanted = std::min(chunk.size(), limit - out.size());
    const ssize_t got = ::read(fd, chunk.data(), wanted);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return false;
    if (got == 0) return true;
    out.append(chunk.data(), static_cast<std::size_t>(got));
  }
  return true;
}

int open_below(const std::string& root, const std::string& path, int flags) {
  const int folder = ::open(root.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC);
  if (folder < 0) return -1;
  open_how how{};
  how.flags = static_cast<unsigned>(flags) | O_CLOEXEC;
  how.resolve = RESOLVE_IN_ROOT | RESOLVE_NO_MAGICLINKS;
  long fd = ::syscall(SYS_openat2, folder, path.c_str(), &how, sizeof how);
  if (fd < 0 && errno == ENOSYS && path.size() > 1) {
    fd = ::openat(folder, path.c_str() + 1, flags | O_CLOEXEC | O_NOFOLLOW);
  }
  ::close(folder);
  return static_cast<int>(fd);
}

template <typename Take>
void each_entry(DIR* folder, std::size_t limit, Take take) {
  for (std::size_t i = 0; i < limit; ++i) {
    const dirent* const entry = ::readdir(folder);
    if (entry == nullptr) return;
    take(std::string_view(entry->d_name));
  }
}

std::optional<int> number(std::string_view text) {
  if (text.empty() || text.size() > 9) return std::nullopt;
  int value = 0;
  for (const char c : text) {
    if (c < '0' || c > '9') return std::nullopt;
    value = value * 10 + (c - '0');
  }
  return value;
}

}  // namespace

Bytes read_some(const std::string& path, std::size_t limit) {
  Bytes bytes;
  // Without O_NONBLOCK a FIFO in a fake or mounted-over tree would hold us for ever.
  const int fd = ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
  if (fd < 0) {
    bytes.state = state_of(errno);
    return bytes;
  }
  // One byte more than wanted, to know whether there was more.
  bytes.state = read_up_to(fd, bytes.data, limit + 1) ? ReadState::ok : state_of(errno);
  ::close(fd);
  bytes.cut = bytes.data.size() > limit;
  if (bytes.cut) bytes.data.resize(limit);
  return bytes;
}

std::string link_target(const std::string& path) {
  std::array<char, 4096> target;
  const ssize_t length = ::readlink(path.c_str(), target.data(), target.size());
  return length > 0 ? std::string(target.data(), static_cast<std::size_t>(length)) : std::string();
}

std::vector<int> numbered_entries(const std::string& path, std::size_t limit) {
  std::vector<int> numbers;
  DIR* const folder = ::opendir(path.c_str());
  if (folder == nullptr) return numbers;
  each_entry(folder, limit, [&](std::string_view name) {
    if (const auto value = number(name)) numbers.push_back(*value);
  });
  ::closedir(folder);
  std::sort(numbers.begin(), numbers.end());
  return numbers;
}

std::optional<FileInRoot> FileInRoot::open(const std::string& root, const std::string& path) {
  const int fd = open_below(root, path, O_RDONLY | O_NONBLOCK | O_NOCTTY);
  if (fd < 0) return std::nullopt;
  FileInRoot file(fd);
  struct stat facts {};
  if (::fstat(fd, &facts) != 0 || !S_ISREG(facts.st_mode)) return std::nullopt;
  return file;
}

FileInRoot::FileInRoot(FileInRoot&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}

FileInRoot::~FileInRoot() {
  if (fd_ >= 0) ::close(fd_);
}

std::string FileInRoot::identity() const {
  struct stat facts {};
  if (::fstat(fd_, &facts) != 0) return "";
  return std::to_string(facts.st_dev) + ":" + std::to_string(facts.st_ino) + ":" +
         std::to_string(facts.st_mtim.tv_sec) + "." + std::to_string(facts.st_mtim.tv_nsec);
}

std::size_t FileInRoot::size() const {
  struct stat facts {};
  return ::fstat(fd_, &facts) == 0 ? static_cast<std::size_t>(facts.st_size) : 0;
}

std::string FileInRoot::read(std::size_t limit) const {
  std::string data;
  read_up_to(fd_, data, limit);
  return data;
}

std::string FileInRoot::after(std::string_view mark, std::string_view allowed,
                              std::size_t limit) const {
  std::string window;
  const std::size_t longest = mark.size() + kLongestAfter;
  std::string chunk(kChunk, '\0');
  for (std::size_t at = 0; at < limit;) {
    const ssize_t got =
        ::pread(fd_, chunk.data(), std::min(kChunk, limit - at), static_cast<off_t>(at));
    if (got <= 0) return "";
    at += static_cast<std::size_t>(got);
    window.append(chunk, 0, static_cast<std::size_t>(got));
    const bool last = static_cast<std::size_t>(got) < kChunk || at >= limit;
    std::size_t from = 0;
    while ((from = window.find(mark, from)) != std::string::npos) {
      const std::size_t begin = from + mark.size();
      // The rest of it may be in the next chunk.
      if (!last && window.size() - from < longest) break;
      const std::size_t end = std::min(window.find_first_not_of(allowed, begin), window.size());
      if (end > begin && end - begin <= kLongestAfter && window[begin] >= '0' &&
          window[begin] <= '9') {
        return window.substr(begin, end - begin);
      }
      from = begin;
    }
    const std::size_t keep =
        from == std::string::npos ? std::min(window.size(), longest) : window.size() - from;
    window.erase(0, window.size() - keep);
  }
  return "";
}

std::vector<std::string> entries_in_root(const std::string& root, const std::string& path,
                                         std::size_t limit) {
  std::vector<std::string> names;
  const int fd = open_below(root, path, O_RDONLY | O_DIRECTORY);
  if (fd < 0) return names;
  DIR* const folder = ::fdopendir(fd);
  if (folder == nullptr) {
    ::close(fd);
    return names;
  }
  each_entry(folder, limit, [&](std::string_view name) { names.emplace_back(name); });
  ::closedir(folder);
  return names;
}

}  // namespace collwatch::processes
