// SPDX-License-Identifier: Apache-2.0
//
// Takes processor time away from one agent and its worker: a tenth of a core through a control
// group where one can be made, short pauses at random elsewhere. Made by the injector on the main
// thread; the destructor gives back what was taken.
#pragma once

#include <sys/types.h>

#include <atomic>
#include <string>
#include <thread>
#include <vector>

#include "probes/model/result.h"

namespace collwatch::demo {

/// A cpu control group of ours with a quota. Processes that these start are in it, too.
class CpuGroup {
 public:
  /// `name` becomes the folder's. An Error where no such group can be made here.
  static model::Result<CpuGroup> create(const std::string& name);
  CpuGroup(CpuGroup&& other) noexcept : folder_(std::exchange(other.folder_, "")) {}
  CpuGroup& operator=(CpuGroup&&) = delete;
  /// Sends the processes back to where all others are and removes the folder.
  ~CpuGroup();

  model::Result<void> add(pid_t process) const;
  /// Removes the groups of ours that nobody is in: what a demo that was killed left behind.
  static void sweep_stale();

 private:
  explicit CpuGroup(std::string folder) : folder_(std::move(folder)) {}

  std::string folder_;
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
