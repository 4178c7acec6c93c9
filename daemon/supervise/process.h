// SPDX-License-Identifier: Apache-2.0
//
// One child process and its group: start it, signal it, reap it exactly (by pidfd, never "any
// child"). Knows nothing of messages or deadlines; worker.cpp adds those. Spawn from the loop's
// thread only: the death signal that a worker arms for itself fires when the *thread* that spawned
// it ends, not the process.
#pragma once

#include <sys/types.h>

#include <chrono>
#include <optional>
#include <string>
#include <vector>

#include "daemon/supervise/exit_fact.h"
#include "daemon/supervise/unique_fd.h"
#include "probes/model/result.h"

namespace collwatch::supervise {

struct ProcessOptions {
  std::string executable;                ///< absolute path, also argv[0]
  std::vector<std::string> arguments;    ///< after argv[0]
  std::vector<std::string> environment;  ///< "NAME=value", complete
  int channel_fd =
      -1;  ///< becomes fd 3 of the child, which has none if -1; the caller keeps its own
  int output_fd = -1;  ///< becomes fd 1 and 2 of the child
  int input_fd = -1;   ///< becomes fd 0 of the child; /dev/null if -1
};

class Process {
 public:
  /// Starts it as leader of a new process group with no other descriptor than 0 to 3, an empty
  /// signal mask and default signal actions. A path that leads nowhere is ErrorCode::not_found, one
  /// that may not be executed ErrorCode::permission; both name it.
  static model::Result<Process> spawn(const ProcessOptions& options);

  ~Process() = default;  ///< closes the pidfd; whether the child lives is the caller's concern
  Process(Process&& other) noexcept = default;
  Process& operator=(Process&& other) noexcept = default;

  pid_t pid() const { return pid_; }
  /// Readable once the process has exited. Readable is not reapable: while a debugger holds it, the
  /// exit status stays with the debugger.
  int pid_fd() const { return pid_fd_.get(); }
  bool reaped() const { return reaped_; }

  /// To the whole group. Does nothing after reap(), when the number may belong to somebody else.
  void signal_group(int signal) const;

  /// True if reap() would succeed now. Does not reap.
  bool has_exited() const;

  /// If it has exited: kills what is left of its group, reaps it and says how it ended (once).
  /// Children that left the group (setsid) are out of reach.
  std::optional<ExitFact> reap();

  /// reap(), waiting for at most `limit`.
  std::optional<ExitFact> reap_within(std::chrono::milliseconds limit);

 private:
  Process(pid_t pid, UniqueFd pid_fd) : pid_(pid), pid_fd_(std::move(pid_fd)) {}

  pid_t pid_;
  UniqueFd pid_fd_;
  bool reaped_ = false;
};

}  // namespace collwatch::supervise
