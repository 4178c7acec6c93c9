// SPDX-License-Identifier: Apache-2.0
//
// open, fstat, read with every way to fail named. Used by load, members and the token.
#include "daemon/config/read_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>

namespace collwatch::config {
namespace {

model::Result<FileBytes> read_open(int fd, const std::string& path, std::size_t most_bytes) {
  struct stat facts {};
  if (fstat(fd, &facts) != 0) {
    return model::fail(model::from_errno(path + ": cannot be read", errno));
  }
  if (!S_ISREG(facts.st_mode)) {
    return model::fail(model::ErrorCode::io, path + ": not a regular file");
  }
  FileBytes file;
  file.mode = facts.st_mode & 07777U;
  char chunk[16384];
  while (true) {
    const ssize_t got = read(fd, chunk, sizeof chunk);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return model::fail(model::from_errno(path + ": cannot be read", errno));
    if (got == 0) return file;
    file.bytes.append(chunk, static_cast<std::size_t>(got));
    if (file.bytes.size() > most_bytes) {
      return model::fail(model::ErrorCode::limit,
                         path + ": larger than " + std::to_string(most_bytes) + " bytes");
    }
  }
}

}  // namespace

model::Result<FileBytes> read_file(const std::string& path, std::size_t most_bytes) {
  // Non-blocking, so that opening a FIFO returns at once and fstat can refuse it.
  const int fd = open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  if (fd < 0) return model::fail(model::from_errno(path + ": cannot be read", errno));
  auto file = read_open(fd, path, most_bytes);
  close(fd);
  return file;
}

}  // namespace collwatch::config
