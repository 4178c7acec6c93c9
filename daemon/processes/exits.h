// SPDX-License-Identifier: Apache-2.0
//
// Tells the moment a rank ends, and how, without being its parent: the kernel makes a pidfd
// readable when its process is gone, and says the exit status of it from Linux 6.15 on (or as long
// as the parent has not asked). A first exit is evidence that no log has: a killed process writes
// nothing. Used by the watcher, on its loop's thread.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "daemon/processes/report.h"

namespace collwatch::processes {

struct Exit {
  int pid = 0;
  std::string job, program;
  std::optional<int> rank;
  std::optional<int> status;  ///< as wait(2) has it; nothing where the kernel does not tell
};

/// "ended by signal 9 (Killed)", "exit code 1", "ended; how is not known".
std::string exit_text(const Exit& exit);
/// A code other than 0, or a signal.
bool is_failure(const Exit& exit);

class ExitWatch {
 public:
  /// `proc` is where exit statuses of those that are not reaped are read.
  explicit ExitWatch(std::string proc = "/proc");
  ~ExitWatch();
  ExitWatch(const ExitWatch&) = delete;
  ExitWatch& operator=(const ExitWatch&) = delete;

  /// Readable when a rank has ended; constant. -1 where the kernel has no pidfds.
  int descriptor() const { return epoll_; }
  /// Follows these from now on, and those before that have not ended.
  void follow(const std::vector<Process>& processes);
  /// Those that have ended since the last call, in no particular order.
  std::vector<Exit> take();
  std::size_t followed() const { return followed_.size(); }

 private:
  struct Followed {
    int fd = -1;
    std::uint64_t start_ticks = 0;
    Exit exit;
  };
  std::string proc_;
  int epoll_ = -1;
  std::map<int, Followed> followed_;  ///< by pid
};

}  // namespace collwatch::processes
