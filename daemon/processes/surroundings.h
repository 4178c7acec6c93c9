// SPDX-License-Identifier: Apache-2.0
//
// What scan() needs of the world, so that a test can hand it another one.
#pragma once

#include <chrono>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "daemon/processes/proc_text.h"

namespace collwatch::processes {

struct Surroundings {
  std::string proc = "/proc";
  double ticks_per_second = 100;
  /// TCP sockets of our own network namespace with their byte counters; nothing where the kernel
  /// does not tell, and /proc/net/tcp has to do.
  std::function<std::optional<std::vector<TcpSocket>>()> own_sockets;
  /// Adds our own addresses to what the routes say.
  std::function<void(LocalAddresses&)> own_addresses;
  std::string host_name;
  int own_pid = 0;  ///< never a rank
  /// Also look for files of the Flight Recorder, which may lie on a network's file system.
  bool flight_files = false;
  /// No process is begun after this long; the report says that it is cut short.
  std::chrono::milliseconds time_limit{2000};
  std::function<std::chrono::steady_clock::time_point()> clock = std::chrono::steady_clock::now;
};

/// This host's.
Surroundings real_surroundings();

}  // namespace collwatch::processes
