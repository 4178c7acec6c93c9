// SPDX-License-Identifier: Apache-2.0
//
// What a dial of the peer port says about why an edge failed (design 1.5). Pure; used by the agent
// after each dial, and by the tests as a table.
#pragma once

#include <optional>

#include "daemon/peer/client.h"
#include "probes/model/vocabulary.h"

namespace collwatch::peer {

/// `witness_heard`: datagrams of that peer still arrive. Nothing when the dial says nothing about
/// the peer: our own shortage (descriptors, ports, permission), a refusal by an overloaded or
/// differently keyed server, a stranger on that port.
std::optional<model::Reason> dial_reason(const CallResult& result, bool witness_heard);

}  // namespace collwatch::peer
