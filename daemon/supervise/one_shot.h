// SPDX-License-Identifier: Apache-2.0
//
// A program that is run once, to its end: a file in, its output back, under a deadline and limits
// of memory and processor time. Blocks; for threads that may wait, never the event loop's. (The
// child must not arm a death signal: it would fire when that thread ends.)
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "daemon/supervise/exit_fact.h"
#include "probes/model/result.h"

namespace collwatch::supervise {

struct OneShotOptions {
  std::string executable;                ///< absolute path
  std::vector<std::string> arguments;    ///< after argv[0]
  std::vector<std::string> environment;  ///< complete
  int input_fd = -1;                     ///< its standard input; the caller's, /dev/null if -1
  int stop_fd = -1;                      ///< readable: give up at once
  std::chrono::milliseconds deadline{10000};
  std::size_t most_output = std::size_t{1} << 20;  ///< bytes; with more it is killed
  std::uint64_t most_memory = 0;                   ///< bytes of address space; 0: as it likes
};

struct OneShotResult {
  ExitFact exit;
  std::string output;  ///< stdout and stderr as they came
  bool is_late = false;
  bool is_too_much = false;
  bool is_stopped = false;
};

/// An Error is one of ours: it could not be started, or would not die. Runs at lower priority.
model::Result<OneShotResult> run_once(const OneShotOptions& options);

}  // namespace collwatch::supervise
