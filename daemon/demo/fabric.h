// SPDX-License-Identifier: Apache-2.0
//
// The demo's network: one namespace per node, joined by veth pairs to a bridge in a namespace of
// its own, so that nothing of the host's network is touched. Knows nothing of agents. Owned by Lab
// on the main thread; everything is removed by the destructor, and what a crashed run left behind
// by sweep_stale().
//
//   collwatch-demo-<pid>-n0  eth0 10.83.0.10 ─┐
//   collwatch-demo-<pid>-n1  eth0 10.83.0.11 ─┼─ br0 10.83.0.1  collwatch-demo-<pid>-sw
//   ...                                      ─┘
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "daemon/demo/network.h"
#include "probes/model/result.h"

namespace collwatch::demo {

/// The names of namespaces start with this, then the pid of the process that made them.
inline constexpr char kNamespacePrefix[] = "collwatch-demo-";

/// The pid in a namespace's or directory's name of ours, or -1 for anything else.
int owner_pid(const std::string& entry);

class Fabric {
 public:
  /// Needs root and the `ip` program.
  static model::Result<std::unique_ptr<Fabric>> create(int nodes, const Network& network);
  ~Fabric();
  Fabric(const Fabric&) = delete;
  Fabric& operator=(const Fabric&) = delete;

  /// Removes namespaces of earlier runs whose process is gone, and any with this process's pid.
  static void sweep_stale();

  std::string netns(int node) const;
  std::string switch_netns() const;
  std::string address(int node) const;         ///< "10.83.0.10"
  std::string second_address(int node) const;  ///< "10.83.0.110"; nobody has it at first
  std::string switch_address() const;          ///< "10.83.0.1"

  /// iptables (ip6tables in an IPv6 network) in a namespace; waits for the lock, 5 s at most.
  model::Result<void> iptables(const std::string& netns,
                               const std::vector<std::string>& arguments) const;
  /// Takes the node's only interface up or down, on the node's side.
  model::Result<void> set_link(int node, bool up) const;
  /// Adds or removes the node's second address.
  model::Result<void> set_second_address(int node, bool there) const;
  /// At most so many bits a second to and from the node; 0: as fast as it goes.
  model::Result<void> set_rate(int node, double bits) const;
  /// Whether this kernel can do what set_rate asks of it; tried on the switch's loopback.
  model::Result<void> try_rate() const;

 private:
  Fabric(int nodes, const Network& network);
  std::string with_length(const std::string& address) const;
  std::vector<std::string> add_address(const std::string& netns, const std::string& address,
                                       const std::string& device) const;
  model::Result<void> build() const;
  model::Result<void> build_node(int node) const;

  int nodes_;
  Network network_;
  std::string prefix_;
};

}  // namespace collwatch::demo
