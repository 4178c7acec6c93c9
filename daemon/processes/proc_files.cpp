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
#include <csignal>
#include <system_error>
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
  const std::size_t first = path.find_first_not_of('/');
  if (fd < 0 && errno == ENOSYS && first != std::string::npos) {
    fd = ::openat(folder, path.c_str() + first, flags | O_CLOEXEC | O_NOFOLLOW);
  }
  ::close(folder);
  return static_cast<int>(fd);
}

class OwnFd {
 public:
  explicit OwnFd(int fd) : fd_(fd) {}
  ~OwnFd() {
    if (fd_ >= 0) ::close(fd_);
  }
  OwnFd(const OwnFd&) = delete;
  OwnFd& operator=(const OwnFd&) = delete;
  int get() const { return fd_; }

 private:
  int fd_;
};

std::string in_words(int error) {
  return std::generic_category().message(error);
}

/// `fd` is of open_below() with O_PATH, which opens neither a FIFO nor a device; -1: it failed.
std::string why_no_pipe(int fd, unsigned owner) {
  if (fd < 0) return errno == ENOENT ? "it does not exist" : in_words(errno);
  struct stat facts {};
  if (::fstat(fd, &facts) != 0) return in_words(errno);
  if (S_ISLNK(facts.st_mode)) return "it is a symbolic link";
  if (!S_ISFIFO(facts.st_mode)) return "it is no FIFO";
  if (facts.st_uid != owner) {
    return "it belongs to user " + std::to_string(facts.st_uid) + ", the process runs as " +
           std::to_string(owner);
  }
  return "";
}

/// A reader that goes away between open and write would end us by SIGPIPE.
class NoSigPipe {
 public:
  NoSigPipe() {
    struct sigaction ignore {};
    ignore.sa_handler = SIG_IGN;
    ::sigaction(SIGPIPE, &ignore, &before_);
  }
  ~NoSigPipe() { ::sigaction(SIGPIPE, &before_, nullptr); }
  NoSigPipe(const NoSigPipe&) = delete;
  NoSigPipe& operator=(const NoSigPipe&) = delete;

 private:
  struct sigaction before_ {};
};

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

unsigned FileInRoot::owner() const {
  struct stat facts {};
  return ::fstat(fd_, &facts) == 0 ? facts.st_uid : static_cast<unsigned>(-1);
}

std::chrono::nanoseconds FileInRoot::modified() const {
  struct stat facts {};
  if (::fstat(fd_, &facts) != 0) return {};
  return std::chrono::seconds(facts.st_mtim.tv_sec) +
         std::chrono::nanoseconds(facts.st_mtim.tv_nsec);
}

std::optional<char> FileInRoot::last_byte() const {
  const std::size_t bytes = size();
  char last = 0;
  if (bytes == 0 || ::pread(fd_, &last, 1, static_cast<off_t>(bytes - 1)) != 1) return std::nullopt;
  return last;
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

std::string why_no_pipe(const std::string& root, const std::string& path, unsigned owner) {
  const OwnFd found(open_below(root, path, O_PATH | O_NOFOLLOW));
  return why_no_pipe(found.get(), owner);
}

std::string put_byte_in_pipe(const std::string& root, const std::string& path, unsigned owner) {
  const OwnFd found(open_below(root, path, O_PATH | O_NOFOLLOW));
  if (std::string why = why_no_pipe(found.get(), owner); !why.empty()) return why;
  // What was looked at is what is opened, whatever the name has become since.
  const std::string same = "/proc/self/fd/" + std::to_string(found.get());
  const OwnFd pipe(::open(same.c_str(), O_WRONLY | O_NONBLOCK | O_CLOEXEC | O_NOCTTY));
  if (pipe.get() < 0) return errno == ENXIO ? "nobody reads it" : in_words(errno);
  const NoSigPipe held;
  if (::write(pipe.get(), "1", 1) == 1) return "";
  return errno == EAGAIN  ? "it is full: nobody reads it"
         : errno == EPIPE ? "nobody reads it any more"
                          : in_words(errno);
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
