// SPDX-License-Identifier: Apache-2.0
//
// Walks /proc/PID/fd; bounded, since a host may run very many processes.
#include "daemon/follow/open_files.h"

#include <dirent.h>
#include <unistd.h>

#include <memory>

namespace collwatch::follow {
namespace {

constexpr int kMostLinks = 200000;

struct Close {
  void operator()(DIR* folder) const { ::closedir(folder); }
};
using Folder = std::unique_ptr<DIR, Close>;

bool is_number(const char* name) {
  return name[0] >= '0' && name[0] <= '9';
}

}  // namespace

std::set<std::string> files_open_here() {
  std::set<std::string> files;
  int links = 0;
  const Folder processes(::opendir("/proc"));
  if (!processes) return files;
  const std::string own = std::to_string(::getpid());
  while (const dirent* process = ::readdir(processes.get())) {
    if (!is_number(process->d_name) || own == process->d_name) continue;
    const std::string path = std::string("/proc/") + process->d_name + "/fd";
    const Folder descriptors(::opendir(path.c_str()));
    if (!descriptors) continue;
    while (const dirent* descriptor = ::readdir(descriptors.get())) {
      if (!is_number(descriptor->d_name)) continue;
      if (++links > kMostLinks) return files;
      char target[4096];
      const ssize_t size =
          ::readlink((path + "/" + descriptor->d_name).c_str(), target, sizeof target);
      if (size > 0 && target[0] == '/') files.emplace(target, static_cast<std::size_t>(size));
    }
  }
  return files;
}

}  // namespace collwatch::follow
