// SPDX-License-Identifier: Apache-2.0
//
// Any bytes are either a clean Error or a witness that says the same after another trip through the
// codec. Seeds lie in corpus/peer_witness; a crash found belongs there, too.
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "daemon/peer/message.h"

namespace peer = collwatch::peer;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view body(reinterpret_cast<const char*>(data), size);
  const auto message = peer::decode_witness(body);
  if (!message) {
    COLLWATCH_ASSERT(!message.error().text.empty());
    return 0;
  }
  const std::string once = peer::encode(*message);
  const auto again = peer::decode_witness(once);
  COLLWATCH_ASSERT(again.has_value());
  COLLWATCH_ASSERT(peer::encode(*again) == once);
  return 0;
}
