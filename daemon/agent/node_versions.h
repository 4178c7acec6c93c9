// SPDX-License-Identifier: Apache-2.0
//
// Which versions a node and its jobs run, as members tell each other, and whose differ from
// everybody's. What is compared has a name; only members that say a version for the same name are
// compared, so a job counts among the nodes that run it. Pure.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "probes/wire/watch_message.h"

namespace collwatch::agent {

/// "NVIDIA driver" -> "535.129.03", "torch of job slurm:4711 (16 ranks)" -> "2.6.0+cu124".
using Versions = std::map<std::string, std::string>;

/// `torch`: this node's libtorch. Jobs that run on this node alone, or whose name another node may
/// use for another job, are left out.
Versions versions_of(const wire::WatchedJobs& watched, const std::string& torch);

struct OddVersion {
  std::string member;
  std::string what;
  std::string version;  ///< of that member
  std::string common;   ///< of the others
};

/// Of all members, `self` among them; sorted by name of what and member.
std::vector<OddVersion> odd_versions(const std::map<std::string, Versions>& members,
                                     const std::string& self);

/// "n2 has torch of job slurm:4711 (16 ranks) 1.13.1, the others have 2.6.0".
std::string sentence(const OddVersion& odd);

}  // namespace collwatch::agent
