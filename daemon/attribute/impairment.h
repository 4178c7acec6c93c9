// SPDX-License-Identifier: Apache-2.0
//
// Edges that work, but badly: whose path is slow, whose loses packets? Compares what all observers
// say of their working edges; a node is named when it is bad towards several peers, a link when it
// alone is. Never a page: training gets slower, it does not break. Pure; called by the agent at
// every evaluation.
#pragma once

#include <cstdint>
#include <vector>

#include "daemon/attribute/evidence.h"

namespace collwatch::attribute {

/// Datagrams missing of the last forty (EdgeWord::lost) that make a path a lossy one to who uses
/// it.
inline constexpr std::int32_t kLossyPath = 2;

struct Impairment {
  Cause cause;                                 ///< node or link
  model::Reason reason = model::Reason::slow;  ///< slow or lossy
};

/// Nodes first, in order of members.
std::vector<Impairment> impairments(const Evidence& evidence);

}  // namespace collwatch::attribute
