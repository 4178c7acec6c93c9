// SPDX-License-Identifier: Apache-2.0
//
// The NCCL probe's conversation and its facts of members (bytes of a peer, with a token at best):
// an Error, or a message that says the same after another trip through the codec; and a plan made
// of any facts stays within what they say. Seeds lie in corpus/; a crash found belongs there, too.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "daemon/agent/nccl_ladder.h"
#include "probes/wire/nccl_message.h"

namespace wire = collwatch::wire;
namespace agent = collwatch::agent;

namespace {

/// The facts as they came beside well known ones, in every place.
void plan_with(const wire::NcclFacts& facts) {
  wire::NcclFacts known;
  known.nccl = "2.28.9";
  known.devices = 8;
  known.ids.assign(wire::kNcclIds, wire::Blob(wire::kNcclIdBytes, 'i'));
  const std::vector<agent::NcclMember> members{{"a", facts}, {"b", known}, {"c", facts}};
  for (std::size_t own = 0; own < members.size(); ++own) {
    const agent::NcclLadder ladder = agent::nccl_ladder(members, own, 7);
    COLLWATCH_ASSERT(ladder.runs.size() <= 2);
    for (const wire::NcclRun& run : ladder.runs) {
      COLLWATCH_ASSERT(run.id.size() == wire::kNcclIdBytes);
      COLLWATCH_ASSERT(run.first_rank >= 0 && run.first_rank < run.ranks);
      COLLWATCH_ASSERT(run.device >= 0 && run.device < members[own].facts.devices);
    }
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view packet(reinterpret_cast<const char*>(data), size);
  if (const auto message = wire::decode_to_nccl(packet)) {
    const std::string once = wire::encode(*message);
    const auto again = wire::decode_to_nccl(once);
    COLLWATCH_ASSERT(again && again->index() == message->index());
    COLLWATCH_ASSERT(wire::encode(*again) == once);
  }
  if (const auto message = wire::decode_from_nccl(packet)) {
    const std::string once = wire::encode(*message);
    const auto again = wire::decode_from_nccl(once);
    COLLWATCH_ASSERT(again && again->index() == message->index());
    COLLWATCH_ASSERT(wire::encode(*again) == once);
  }
  if (const auto facts = wire::decode_facts({packet.begin(), packet.end()})) {
    const wire::Blob once = wire::encode_facts(*facts);
    const auto again = wire::decode_facts(once);
    COLLWATCH_ASSERT(again);
    COLLWATCH_ASSERT(wire::encode_facts(*again) == once);
    plan_with(*facts);
  }
  return 0;
}
