// SPDX-License-Identifier: Apache-2.0
//
// Which of a network namespace's TCP sockets are whose, where they lead and how much went over
// them. Pure.
#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <tuple>
#include <vector>

#include "daemon/processes/proc_text.h"
#include "daemon/processes/report.h"

namespace collwatch::processes {

/// One network namespace.
struct Network {
  bool ours = false;
  std::vector<TcpSocket> sockets;
  LocalAddresses addresses;
  std::vector<std::string> interfaces;
  int first_dynamic_port = 32768;  ///< from here on a system picks ports by itself
};

/// The sockets of a network by inode and by both of their ends.
class SocketIndex {
 public:
  explicit SocketIndex(const Network& network);
  const TcpSocket* of_inode(std::uint64_t inode) const;
  /// The other end, where it is in this network too.
  const TcpSocket* other_end(const TcpSocket& socket) const;

 private:
  std::map<std::uint64_t, const TcpSocket*> by_inode_;
  std::map<std::tuple<std::string, int, std::string, int>, const TcpSocket*> by_ends_;
};

/// Fills the process' connections, moved bytes and listeners. `sockets` are its own inodes,
/// `of_ranks` those of all ranks here; `before` are bytes by inode at the previous look, `after`
/// gets those of now.
void show_connections(Process& process, const std::vector<std::uint64_t>& sockets,
                      const Network& network, const SocketIndex& index,
                      const std::set<std::uint64_t>& of_ranks,
                      const std::map<std::uint64_t, std::uint64_t>* before,
                      std::map<std::uint64_t, std::uint64_t>& after);

}  // namespace collwatch::processes
