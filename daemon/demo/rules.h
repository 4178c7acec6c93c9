// SPDX-License-Identifier: Apache-2.0
//
// Faults of the network as rules of iptables. Pure; the injector adds and removes them.
#pragma once

#include <string>
#include <vector>

#include "daemon/demo/fault.h"

namespace collwatch::demo {

/// One rule in one node's namespace, without its -I or -D.
struct Rule {
  int node = 0;
  std::vector<std::string> words;
  bool operator==(const Rule&) const = default;
};

/// The rules that make the fault; none for a fault that is made otherwise. `addresses`: of all
/// nodes.
std::vector<Rule> rules_of(const Fault& fault, const std::vector<std::string>& addresses);

}  // namespace collwatch::demo
