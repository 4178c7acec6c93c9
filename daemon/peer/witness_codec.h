// SPDX-License-Identifier: Apache-2.0
//
// WitnessMessage as the array that travels in a datagram and, over TCP, inside a request. Positions
// instead of keys, because seven edges must fit into 600 bytes; later versions append, and what a
// reader does not know at an array's end it ignores. Internal to the codec.
#pragma once

#include "daemon/peer/cbor.h"
#include "daemon/peer/message.h"

namespace collwatch::peer {

Json witness_to_json(const WitnessMessage& message);
model::Result<WitnessMessage> witness_from_json(const Json& array);

}  // namespace collwatch::peer
