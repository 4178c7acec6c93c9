// SPDX-License-Identifier: Apache-2.0
//
// Limits are generous for a real training process and harmless for a hostile one.
#include "daemon/processes/gather.h"

#include <algorithm>

namespace collwatch::processes {
namespace {

constexpr std::size_t kSmall = 16384;
/// No process has more: arguments and environment share three quarters of the largest stack.
constexpr std::size_t kLargestEnvironment = 6 << 20;
constexpr std::size_t kLargestMaps = 8 << 20;
constexpr std::size_t kLargestTable = 8 << 20;
constexpr std::size_t kMostThreads = 512;
constexpr std::size_t kMostFiles = 4096;

bool is_numbered(const std::string& path, std::string_view start) {
  return path.size() > start.size() && path.compare(0, start.size(), start) == 0 &&
         path.find_first_not_of("0123456789", start.size()) == std::string::npos;
}

void add_once(std::vector<std::string>& list, const std::string& text) {
  if (std::find(list.begin(), list.end(), text) == list.end()) list.push_back(text);
}

}  // namespace

std::string folder_of_process(const std::string& proc, int pid) {
  return proc + "/" + std::to_string(pid);
}

std::optional<Stat> read_stat(const std::string& folder) {
  return parse_stat(read_some(folder + "/stat", kSmall).data);
}

ReadEnvironment read_environment(const std::string& folder) {
  const Bytes bytes = read_some(folder + "/environ", kLargestEnvironment);
  return {bytes.state, parse_environment(bytes.data)};
}

std::vector<std::string> read_threads(const std::string& folder) {
  std::vector<std::string> names;
  for (const int thread : numbered_entries(folder + "/task", kMostThreads)) {
    std::string name = read_some(folder + "/task/" + std::to_string(thread) + "/comm", 64).data;
    while (!name.empty() && name.back() == '\n') name.pop_back();
    names.push_back(printable(name, 32));
  }
  return names;
}

OpenFiles read_open_files(const std::string& folder) {
  static constexpr std::string_view kSocket = "socket:[";
  OpenFiles open;
  std::vector<std::string> nvidia;
  bool computes = false;
  for (const int fd : numbered_entries(folder + "/fd", kMostFiles)) {
    const std::string target = link_target(folder + "/fd/" + std::to_string(fd));
    if (target.compare(0, kSocket.size(), kSocket) == 0) {
      std::uint64_t inode = 0;
      for (std::size_t i = kSocket.size(); i < target.size() && target[i] != ']'; ++i) {
        inode = inode * 10 + static_cast<std::uint64_t>(target[i] - '0');
      }
      open.sockets.push_back(inode);
    } else if (is_numbered(target, "/dev/nvidia")) {
      add_once(nvidia, target);
    } else if (target == "/dev/nvidia-uvm") {
      computes = true;
    } else if (target == "/dev/kfd") {
      add_once(open.gpus, target);
    } else if (is_numbered(target, "/dev/infiniband/uverbs")) {
      add_once(open.rdma, target);
    }
  }
  // Whoever only asks the driver about its cards (nvidia-smi) opens them too, but no memory of
  // theirs.
  if (computes) open.gpus.insert(open.gpus.end(), nvidia.begin(), nvidia.end());
  std::sort(open.gpus.begin(), open.gpus.end());
  return open;
}

std::vector<std::string> read_training_files(const std::string& folder) {
  return training_files(read_some(folder + "/maps", kLargestMaps).data);
}

Namespaces read_namespaces(const std::string& folder) {
  return {link_target(folder + "/ns/net"), link_target(folder + "/ns/pid"),
          link_target(folder + "/ns/mnt"), link_target(folder + "/ns/uts")};
}

Network read_network(const std::string& folder) {
  Network network;
  const std::string net = folder + "/net/";
  network.interfaces = parse_interfaces(read_some(net + "dev", kLargestTable).data);
  network.addresses = LocalAddresses(read_some(net + "route", kLargestTable).data,
                                     read_some(net + "if_inet6", kLargestTable).data);
  return network;
}

std::vector<TcpSocket> read_sockets(const std::string& folder) {
  std::vector<TcpSocket> sockets;
  for (const char* const table : {"/net/tcp", "/net/tcp6"}) {
    for (TcpSocket& socket : parse_tcp(read_some(folder + table, kLargestTable).data)) {
      sockets.push_back(std::move(socket));
    }
  }
  return sockets;
}

}  // namespace collwatch::processes
