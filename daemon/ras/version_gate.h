// SPDX-License-Identifier: Apache-2.0
//
// Whether NCCL's status service may be asked, and how. A question is a collective of the whole job,
// answered by threads inside the job's processes; before 2.29.2 it can make one of them read memory
// that is not its own once a process is missing. Pure.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace collwatch::ras {

struct Version {
  int major = 0, minor = 0, patch = 0;
  auto operator<=>(const Version&) const = default;
};
/// Of "2.28.9", "2.28.9+cuda13.0"; two numbers at least.
std::optional<Version> parse_version(std::string_view text);

enum class Ability {
  none,          ///< before 2.24 there is no service
  text_careful,  ///< text alone, and never again once a process was missing
  json_careful,  ///< likewise in JSON, with a comma too few at times
  json
};
Ability ability_of(const Version& version);

enum class Mode { never, safe, always };

/// A job with ranks on this node that NCCL may carry.
struct Candidate {
  std::string job;
  std::string version;          ///< of the oldest libnccl in it; empty: not known
  bool has_first_rank = false;  ///< rank 0 runs here, or should
  bool ranks_known = false;
  bool is_hurt = false;      ///< a rank that belongs here has no process, or is stopped
  bool own_network = false;  ///< in our network namespace
  bool listens = false;      ///< one of its processes here holds the port that is to be asked
  bool is_left = false;      ///< was incomplete before, see Ability
};

struct Decision {
  bool ask = false;
  bool json = false;  ///< try JSON first
  std::string why;    ///< not, in a sentence for people; empty while asking
};

/// All jobs of this node count: whom a connection reaches is the kernel's choice.
Decision decide(Mode mode, const std::vector<Candidate>& candidates);

}  // namespace collwatch::ras
