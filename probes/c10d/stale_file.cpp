// SPDX-License-Identifier: Apache-2.0
//
// A FileStore is a file that exists and is not empty; it is deleted by the last of its ranks that
// ends well, so what is left is either in use or stale.
#include "probes/c10d/stale_file.h"

#include <sys/stat.h>

#include <cerrno>
#include <cstring>
#include <ctime>

namespace collwatch::c10d_probe {
namespace {

std::string age_of(std::time_t written) {
  const auto seconds = static_cast<long>(std::difftime(std::time(nullptr), written));
  if (seconds < 120) return std::to_string(seconds < 0 ? 0 : seconds) + " s";
  if (seconds < 7200) return std::to_string(seconds / 60) + " min";
  return std::to_string(seconds / 3600) + " h";
}

}  // namespace

std::string describe_stale_file(const std::string& path) {
  struct stat found {};
  if (::lstat(path.c_str(), &found) != 0) {
    return errno == ENOENT ? "" : path + ": " + std::strerror(errno);
  }
  if (!S_ISREG(found.st_mode)) return path + " is no regular file: a FileStore cannot use it";
  if (found.st_size == 0) return "";
  return "a store of " + std::to_string(found.st_size) + " bytes is there already, last written " +
         age_of(found.st_mtime) +
         " ago: unless its job runs, the next job reads dead addresses from "
         "it; delete it";
}

}  // namespace collwatch::c10d_probe
