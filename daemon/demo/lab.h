// SPDX-License-Identifier: Apache-2.0
//
// Lab: N real agents on one host, each in a network namespace of its own where that is possible and
// on loopback otherwise, with their state in a private directory. Built by the demo and by the end
// to end tests, on the main thread. The destructor ends every agent and removes everything; what a
// crashed run left behind is swept when the next Lab is built.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "daemon/demo/agent.h"
#include "daemon/demo/fabric.h"
#include "daemon/demo/network.h"
#include "probes/model/result.h"

namespace collwatch::demo {

struct LabOptions {
  int nodes = 4;          ///< members at the beginning
  int room = 0;           ///< places for so many; 0: as many as nodes
  bool loopback = false;  ///< even as root
  int base_port = 19781;  ///< loopback only
  std::string bin_dir;    ///< where collwatchd lies
  Network network;
  /// The status API listens on the node's address instead of its loopback, for scrapers that sit in
  /// the switch's namespace.
  bool status_on_fabric = false;
};

class Lab {
 public:
  /// Builds the network and the directories; starts nothing. Falls back to loopback where
  /// namespaces are not to be had, and says why in loopback_because().
  static model::Result<std::unique_ptr<Lab>> create(const LabOptions& options);
  ~Lab();
  Lab(const Lab&) = delete;
  Lab& operator=(const Lab&) = delete;

  int nodes() const { return nodes_; }
  int room() const { return static_cast<int>(agents_.size()); }
  Agent& agent(int node) { return *agents_[node]; }
  model::Result<void> start(int node) { return agents_[node]->start(); }
  /// From now on n0 to n<nodes-1> are members: rewrites the file that every agent watches.
  model::Result<void> set_nodes(int nodes);

  /// Null on loopback.
  const Fabric* fabric() const { return fabric_.get(); }
  const std::string& loopback_because() const { return loopback_because_; }
  const std::string& directory() const { return directory_; }
  const std::string& bin_dir() const { return options_.bin_dir; }
  /// Leaves the logs where they are when the Lab goes, and returns where.
  std::string keep_logs();

 private:
  explicit Lab(LabOptions options);
  model::Result<void> make_directory();
  model::Result<void> make_agents();
  AgentPlace place(int node) const;

  LabOptions options_;
  int nodes_ = 0;
  std::unique_ptr<Fabric> fabric_;
  std::string loopback_because_;
  std::string directory_;
  bool keep_ = false;
  std::vector<std::unique_ptr<Agent>> agents_;  // last: agents end before their network goes
};

}  // namespace collwatch::demo
