// SPDX-License-Identifier: Apache-2.0
//
// Any bytes are either a clean Error or a message that says the same after another trip through
// the codec. Seeds lie in corpus/; a crash found belongs there, too.
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "probes/wire/message.h"
#include "probes/wire/watch_message.h"

namespace wire = collwatch::wire;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view packet(reinterpret_cast<const char*>(data), size);
  if (const auto message = wire::decode_to_worker(packet)) {
    const std::string once = wire::encode(*message);
    const auto again = wire::decode_to_worker(once);
    COLLWATCH_ASSERT(again && again->index() == message->index());
    COLLWATCH_ASSERT(wire::encode(*again) == once);
  }
  if (const auto message = wire::decode_from_worker(packet)) {
    const std::string once = wire::encode(*message);
    const auto again = wire::decode_from_worker(once);
    COLLWATCH_ASSERT(again && again->index() == message->index());
    COLLWATCH_ASSERT(wire::encode(*again) == once);
  }
  if (const auto message = wire::decode_to_watcher(packet)) {
    const std::string once = wire::encode(*message);
    const auto again = wire::decode_to_watcher(once);
    COLLWATCH_ASSERT(again && again->index() == message->index());
    COLLWATCH_ASSERT(wire::encode(*again) == once);
  }
  if (const auto message = wire::decode_from_watcher(packet)) {
    const std::string once = wire::encode(*message);
    const auto again = wire::decode_from_watcher(once);
    COLLWATCH_ASSERT(again && again->index() == message->index());
    COLLWATCH_ASSERT(wire::encode(*again) == once);
  }
  return 0;
}
