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

#include "probes/model/result.h"

namespace collwatch::demo {

/// The names of namespaces start with this, then the pid of the process that made them.
inline constexpr char kNamespacePrefix[] = "collwatch-demo-";

/// The pid in a namespace's or directory's name of ours, or -1 for anything else.
int owner_pid(const std::string& entry);

class Fabric {
 public:
  /// Needs root and the `ip` program. `subnet`: the first three numbers of a /24.
  static model::Result<std::unique_ptr<Fabric>> create(int nodes, const std::string& subnet);
  ~Fabric();
  Fabric(const Fabric&) = delete;
  Fabric& operator=(const Fabric&) = delete;

  /// Removes namespaces of earlier runs whose process is gone, and any with this process's pid.
  static void sweep_stale();

  std::string netns(int node) const;
  std::string switch_netns() const;
  std::string address(int node) const;  ///< "10.83.0.10"
  std::string switch_address() const;   ///< "10.83.0.1"

  /// iptables in the node's namespace; waits for the lock, 5 s at most.
  model::Result<void> iptables(int node, const std::vector<std::string>& arguments) const;
  /// Takes the node's only interface up or down, on the node's side.
  model::Result<void> set_link(int node, bool up) const;

 private:
  Fabric(int nodes, std::string subnet);
  model::Result<void> build() const;
  model::Result<void> build_node(int node) const;

  int nodes_;
  std::string subnet_;
  std::string prefix_;
};

}  // namespace collwatch::demo
