// SPDX-License-Identifier: Apache-2.0
//
// Is the network cut in two? Members fall into those that self still reaches, over working edges,
// and the rest; a cut is what makes every edge between the two fail at once, and no answer or
// datagram cross. Internal to daemon/attribute; the cover weighs it against nodes and links.
#pragma once

#include <optional>

#include "daemon/attribute/evidence.h"
#include "daemon/attribute/observations.h"

namespace collwatch::attribute {

/// The cut that separates self's side from the rest, its `group` the minority (of two halves the
/// one without the lowest member); nothing where a side is a single node or the evidence does not
/// fit.
std::optional<Cause> partition_seen_by(const Observations& seen);

/// How many members take part on the side where self is not.
std::uint32_t far_side(const Observations& seen, const Cause& partition);

/// Everybody on self's side whose words arrive has complained of everybody beyond, or a round has
/// begun since the last complaint.
bool partition_settled(const Observations& seen, const Cause& partition);

}  // namespace collwatch::attribute
