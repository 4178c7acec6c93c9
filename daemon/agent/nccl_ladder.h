// SPDX-License-Identifier: Apache-2.0
//
// What a node runs after a meeting, from what every member brought to it: which communicators, of
// how many ranks, and whose versions are not everybody's. Pure: the same facts give every member
// the same plan, so that nobody has to be told. Used by nccl_link.cpp.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "probes/wire/nccl_message.h"

namespace collwatch::agent {

struct NcclMember {
  std::string name;
  wire::NcclFacts facts;
};

struct NcclLadder {
  std::vector<wire::NcclRun> runs;  ///< without round, timeout and sizes
  /// Who has other versions than the rest, and a sentence with both.
  std::vector<std::pair<std::string, std::string>> odd;
  bool is_mixed = false;  ///< different NCCL: nothing is run, it could not work
};

/// `members` by rank, `own` the rank of this node; `turn` chooses the rail.
NcclLadder nccl_ladder(const std::vector<NcclMember>& members, std::size_t own, std::int64_t turn);

}  // namespace collwatch::agent
