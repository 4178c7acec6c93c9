// SPDX-License-Identifier: Apache-2.0
//
// The messages of the store probe, field by field; json_fields.h does the rest.
#include "probes/wire/store_message.h"

#include "probes/wire/json_fields.h"

namespace collwatch::wire {

// Not in a nameless namespace: they are looked up by their arguments.

COLLWATCH_MESSAGE(StoreFolder, "store_folder")
COLLWATCH_MESSAGE(StoreMember, "store_member")
COLLWATCH_MESSAGE(StoreDone, "store_done")

template <Is<StoreFolder> M>
void fields(auto& f, M& m) {
  f("v", m.v, "filesystem", m.filesystem, "error", m.error);
}
template <Is<StoreMember> M>
void fields(auto& f, M& m) {
  f("v", m.v, "name", m.name, "sequence", m.sequence);
}
template <Is<StoreDone> M>
void fields(auto& f, M& m) {
  f("duration_us", m.duration_us);
}

std::string encode(const FromStore& message) {
  return encode_any(message);
}

model::Result<FromStore> decode_from_store(std::string_view packet) {
  return decode_any<FromStore>(packet);
}

}  // namespace collwatch::wire
