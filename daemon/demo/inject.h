// SPDX-License-Identifier: Apache-2.0
//
// Carries faults out and takes them back, in a Lab. One Injector per demo, on the main thread; its
// destructor ends the strangers it let loose, the Lab takes care of the rest. Actions take
// milliseconds, a restart up to a few seconds.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "daemon/demo/fault.h"
#include "daemon/demo/lab.h"
#include "daemon/demo/stranger.h"

namespace collwatch::demo {

/// The iptables rules that make the fault, as (node, rule without its -I or -D). Pure.
std::vector<std::pair<int, std::vector<std::string>>> rules_of(const Fault& fault,
                                                               const Fabric& fabric);

class Injector {
 public:
  explicit Injector(Lab& lab) : lab_(lab) {}

  model::Result<void> inject(const Fault& fault);
  model::Result<void> repair(const Fault& fault);

 private:
  model::Result<void> stop_worker(int node);
  model::Result<void> continue_worker(int node);
  model::Result<void> set_rules(const Fault& fault, const char* action);
  std::vector<Stranger::Door> doors() const;

  Lab& lab_;
  std::map<int, pid_t> stopped_workers_;  ///< by node
  std::unique_ptr<Stranger> stranger_;
};

}  // namespace collwatch::demo
