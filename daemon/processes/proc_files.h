// SPDX-License-Identifier: Apache-2.0
//
// The one place that opens files of other processes: bounded in size, never through a FIFO or a
// device, inside a container's root without being led out of it by its links. Everything it returns
// is untrusted bytes. It writes nothing but the one byte of put_byte_in_pipe, which nobody calls
// but who was told to.
#pragma once

#include <chrono>
#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace collwatch::processes {

enum class ReadState { ok, gone, denied, failed };

struct Bytes {
  ReadState state = ReadState::failed;
  std::string data;
  bool cut = false;  ///< there was more than the limit
};

/// The first `limit` bytes of a file below /proc or /sys.
Bytes read_some(const std::string& path, std::size_t limit);

/// The target of a symbolic link, as the kernel shows it; empty where there is none to be seen.
std::string link_target(const std::string& path);

/// The numbers among a folder's entries, sorted.
std::vector<int> numbered_entries(const std::string& path, std::size_t limit);

/// A regular file as a process sees it, whose root is `root` ("/proc/17/root").
class FileInRoot {
 public:
  static std::optional<FileInRoot> open(const std::string& root, const std::string& path);
  ~FileInRoot();
  FileInRoot(FileInRoot&& other) noexcept;
  FileInRoot& operator=(FileInRoot&&) = delete;
  FileInRoot(const FileInRoot&) = delete;
  FileInRoot& operator=(const FileInRoot&) = delete;

  /// What tells this file from all others and from later contents of it.
  std::string identity() const;
  std::size_t size() const;
  unsigned owner() const;
  /// Since the epoch.
  std::chrono::nanoseconds modified() const;
  std::optional<char> last_byte() const;
  /// Goes on where the last call ended.
  std::string read(std::size_t limit) const;
  /// The bytes after the first `mark` that are followed by a digit, up to the first byte that is
  /// not in `allowed`; looks at no more than `limit` bytes of the file.
  std::string after(std::string_view mark, std::string_view allowed, std::size_t limit) const;

 private:
  explicit FileInRoot(int fd) : fd_(fd) {}
  int fd_;
};

/// Why `path` below `root` is no FIFO of that user's; empty: it is one. A link at its end is none.
std::string why_no_pipe(const std::string& root, const std::string& path, unsigned owner);

/// Writes one byte into such a FIFO if somebody has it open for reading; never waits. Empty: done;
/// else why not.
std::string put_byte_in_pipe(const std::string& root, const std::string& path, unsigned owner);

/// Names in a folder as a process sees it.
std::vector<std::string> entries_in_root(const std::string& root, const std::string& path,
                                         std::size_t limit);

}  // namespace collwatch::processes
