// SPDX-License-Identifier: Apache-2.0
//
// Watches folders, not files: a file's name then tells nothing that a look would not.
#include "daemon/follow/changes.h"

#include <sys/inotify.h>
#include <unistd.h>

#include <cstdint>
#include <cstring>

namespace collwatch::follow {
namespace {

constexpr std::size_t kMostFolders = 256;
constexpr std::uint32_t kMoved = IN_CREATE | IN_MOVED_TO | IN_MOVED_FROM | IN_DELETE;

}  // namespace

Changes::Changes() : fd_(::inotify_init1(IN_NONBLOCK | IN_CLOEXEC)) {}

void Changes::watch(const std::set<std::string>& folders) {
  if (!fd_) return;
  for (auto it = watched_.begin(); it != watched_.end();) {
    if (folders.contains(it->first)) {
      ++it;
      continue;
    }
    ::inotify_rm_watch(fd_.get(), it->second);
    it = watched_.erase(it);
  }
  for (const std::string& folder : folders) {
    if (watched_.size() >= kMostFolders) return;
    // Again for those that are known: the folder may have been replaced by another of its name.
    const int id = ::inotify_add_watch(fd_.get(), folder.c_str(), kMoved | IN_MODIFY | IN_ONLYDIR);
    if (id >= 0) {
      watched_[folder] = id;
    } else {
      watched_.erase(folder);
    }
  }
}

Changes::Seen Changes::take() {
  Seen seen;
  if (!fd_) return seen;
  alignas(inotify_event) char buffer[16 * 1024];
  for (int i = 0; i < 16; ++i) {
    const ssize_t size = ::read(fd_.get(), buffer, sizeof buffer);
    if (size <= 0) break;
    for (ssize_t at = 0; at + static_cast<ssize_t>(sizeof(inotify_event)) <= size;) {
      inotify_event event{};
      std::memcpy(&event, buffer + at, sizeof event);
      seen.written = seen.written || (event.mask & (IN_MODIFY | IN_Q_OVERFLOW)) != 0;
      seen.moved = seen.moved || (event.mask & (kMoved | IN_Q_OVERFLOW)) != 0;
      at += static_cast<ssize_t>(sizeof(inotify_event) + event.len);
    }
  }
  return seen;
}

}  // namespace collwatch::follow
