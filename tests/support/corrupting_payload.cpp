// SPDX-License-Identifier: Apache-2.0
//
// A Gloo worker whose host damages what it sends, for tests: of every large payload one bit in the
// middle, after the checksum was made. Small messages stay whole, as they do where a bad DIMM or a
// bad offload engine is hit by large transfers only.
#define fill_payload fill_payload_rightly
#include "probes/gloo/payload.cpp"  // NOLINT(bugprone-suspicious-include): its function, renamed
#undef fill_payload

namespace collwatch::gloo_probe {

void fill_payload(std::span<char> out, const Payload& payload, std::uint64_t seal);
void fill_payload(std::span<char> out, const Payload& payload, std::uint64_t seal) {
  fill_payload_rightly(out, payload, seal);
  if (payload.kind == PayloadKind::large) out[out.size() / 2] ^= 1;
}

}  // namespace collwatch::gloo_probe
