// SPDX-License-Identifier: Apache-2.0
//
// Reads what is wanted of one process out of /proc, bounded. Blocks where the kernel blocks:
// command line, environment and maps of a process in state D can, so callers look at the state
// first and run in a process of their own. Used by scan alone.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "daemon/processes/connections.h"
#include "daemon/processes/proc_files.h"
#include "daemon/processes/proc_text.h"

namespace collwatch::processes {

std::string folder_of_process(const std::string& proc, int pid);

std::optional<Stat> read_stat(const std::string& folder);

/// Its environment, or why not.
struct ReadEnvironment {
  ReadState state = ReadState::failed;
  Environment environment;
};
ReadEnvironment read_environment(const std::string& folder);

/// The names of its threads.
std::vector<std::string> read_threads(const std::string& folder);

struct OpenFiles {
  std::vector<std::uint64_t> sockets;  ///< inodes
  std::vector<std::string> gpus, rdma;
};
OpenFiles read_open_files(const std::string& folder);

std::vector<std::string> read_training_files(const std::string& folder);

struct Namespaces {
  std::string network, pids, files, names;
};
Namespaces read_namespaces(const std::string& folder);

/// Interfaces and addresses of a process' network namespace.
Network read_network(const std::string& folder);
/// Its sockets, without byte counters.
std::vector<TcpSocket> read_sockets(const std::string& folder);

}  // namespace collwatch::processes
