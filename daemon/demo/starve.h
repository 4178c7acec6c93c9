// SPDX-License-Identifier: Apache-2.0
//
// Takes processor time away from one agent and its worker: where a control group can be made they
// share a tenth of a core with a process that never has enough, elsewhere they are paused at
// random. Made by the injector on the main thread; the destructor gives back what was taken.
#pragma once

#include <sys/types.h>

#include <atomic>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "probes/model/result.h"

namespace collwatch::demo {

/// A cpu control group of ours with a quota, and in it a process that uses up what is left of it:
/// the others run for a few milliseconds, then all of them stand still to the end of the 100.
class CpuGroup {
 public:
  /// `name` becomes the folder's. An Error where no such group can be made here.
  static model::Result<CpuGroup> create(const std::string& name);
  CpuGroup(CpuGroup&& other) noexcept
      : folder_(std::exchange(other.folder_, "")), hog_(std::exchange(other.hog_, -1)) {}
  CpuGroup& operator=(CpuGroup&&) = delete;
  /// Ends the hog, sends the others back to where all processes are and removes the folder.
  ~CpuGroup();

  /// It and what it starts.
  model::Result<void> add(pid_t process) const;
  /// Removes the groups of ours that nobody is in: what a demo that was killed left behind.
  static void sweep_stale();

 private:
  explicit CpuGroup(std::string folder) : folder_(std::move(folder)) {}

  model::Result<void> start_hog();

  std::string folder_;
  pid_t hog_ = -1;
};

/// Stops the processes for up to 200 ms, and lets them run for up to 200 ms, from a thread of its
/// own.
class Pauses {
 public:
  explicit Pauses(std::vector<pid_t> processes);
  ~Pauses();
  Pauses(const Pauses&) = delete;
  Pauses& operator=(const Pauses&) = delete;

 private:
  void pause_at_random();

  std::vector<pid_t> processes_;
  std::atomic<bool> enough_{false};
  std::thread thread_;
};

}  // namespace collwatch::demo
