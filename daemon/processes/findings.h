// SPDX-License-Identifier: Apache-2.0
//
// What is wrong with the ranks of this host, each with its evidence. Pure, and cautious: what could
// be harmless has confidence low, and what cannot be told apart from outside is not said at all.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "daemon/processes/report.h"

namespace collwatch::processes {

/// What a rank's network and files say about the address that Gloo would publish.
struct NameFacts {
  std::string host_name;                ///< as the rank sees it; empty where it cannot be known
  std::string loopback_of_name;         ///< what /etc/hosts gives that name, where that is loopback
  std::vector<std::string> interfaces;  ///< that the rank has; empty where they cannot be read
};

std::vector<Finding> findings_of(const std::vector<Process>& processes,
                                 const std::vector<Job>& jobs,
                                 const std::map<int, NameFacts>& facts,
                                 std::optional<double> window_seconds);

}  // namespace collwatch::processes
