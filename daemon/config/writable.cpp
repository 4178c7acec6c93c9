// SPDX-License-Identifier: Apache-2.0
//
// faccessat(2) knows of read-only file systems too; what it cannot know (a full disk) the event log
// counts while it runs.
#include "daemon/config/writable.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

namespace collwatch::config {
namespace {

bool may(const std::string& path, int mode) {
  return ::faccessat(AT_FDCWD, path.c_str(), mode, AT_EACCESS) == 0;
}

std::string because(const std::string& path, int number) {
  return path + ": " + std::strerror(number);
}

}  // namespace

std::string why_not_writable(const std::string& path) {
  const std::size_t slash = path.rfind('/');
  const std::string folder = slash == std::string::npos ? "." : path.substr(0, slash + 1);
  struct stat info {};
  if (::stat(folder.c_str(), &info) != 0) return "no folder " + because(folder, errno);
  if (::stat(path.c_str(), &info) == 0) {
    if (S_ISCHR(info.st_mode)) {
      return may(path, W_OK) ? "" : "cannot write to " + because(path, errno);
    }
    if (!S_ISREG(info.st_mode)) return path + ": not a regular file";
    if (!may(path, R_OK | W_OK)) return "cannot write to " + because(path, errno);
  }
  // Rotation renames within the folder.
  if (!may(folder, W_OK | X_OK)) return "cannot create files in " + because(folder, errno);
  return "";
}

}  // namespace collwatch::config
