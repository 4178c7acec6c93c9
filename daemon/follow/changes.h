// SPDX-License-Identifier: Apache-2.0
//
// inotify: says that it is time to look. What there is to see is found by looking (follower.h), so
// that an event that was lost, or a file system that sends none, costs time and nothing else.
#pragma once

#include <map>
#include <set>
#include <string>

#include "daemon/supervise/unique_fd.h"

namespace collwatch::follow {

class Changes {
 public:
  struct Seen {
    bool written = false;  ///< some file grew
    bool moved = false;    ///< some file came, went or got another name
  };

  Changes();

  /// Readable when something happened; -1 where there is no inotify.
  int fd() const { return fd_.get(); }
  /// Watches exactly these. What cannot be watched (no such folder, no right, no room) is not.
  void watch(const std::set<std::string>& folders);
  /// What happened since the last call.
  Seen take();

 private:
  supervise::UniqueFd fd_;
  std::map<std::string, int> watched_;
};

}  // namespace collwatch::follow
