// SPDX-License-Identifier: Apache-2.0
//
// Carries faults out and takes them back, in a Lab. One Injector per demo, on the main thread; its
// destructor ends the strangers it let loose and gives back what it took, the Lab takes care of the
// rest. Actions take milliseconds, a restart up to a few seconds.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "daemon/demo/fault.h"
#include "daemon/demo/lab.h"
#include "daemon/demo/starve.h"
#include "daemon/demo/stranger.h"

namespace collwatch::demo {

class Injector {
 public:
  explicit Injector(Lab& lab) : lab_(lab), nodes_(lab.nodes()) {}

  /// Before any agent starts: whether this host has what the faults need (the error is the sentence
  /// to print), and what must be there from the beginning.
  model::Result<void> prepare(const std::vector<Fault>& faults);
  model::Result<void> inject(const Fault& fault);
  model::Result<void> repair(const Fault& fault);

 private:
  model::Result<void> prepare_one(const Fault& fault);
  model::Result<void> prepare_clock(int node);
  model::Result<void> find_worker(const std::string& worker);
  model::Result<void> stop_worker(int node);
  model::Result<void> continue_worker(int node);
  model::Result<void> set_rules(const Fault& fault, const char* action);
  model::Result<void> try_rules(const Fault& fault);
  model::Result<void> restart(int node);
  model::Result<void> restart_with_worker(int node, const std::string& worker);
  model::Result<void> change_address(int node, bool wrong);
  model::Result<void> starve(int node);
  model::Result<void> grow(int nodes);
  model::Result<void> shrink();
  std::string clock_file(int node) const;
  std::vector<Stranger::Door> doors() const;

  Lab& lab_;
  int nodes_;  ///< before any growth
  std::map<int, pid_t> stopped_workers_;
  std::unique_ptr<Stranger> stranger_;
  std::map<int, CpuGroup> groups_;
  std::map<int, Pauses> pauses_;
};

}  // namespace collwatch::demo
