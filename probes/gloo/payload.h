// SPDX-License-Identifier: Apache-2.0
//
// What travels on an edge: 64-byte messages (token, reply, go, confirm) and the large payloads,
// each with a header, a checksum over everything and a pattern that depends on the sender, the
// context and the round, so that damaged, foreign, stale and misdirected bytes are told apart. The
// token announces the large payload of its round: the receiver then posts exactly that size,
// because a Gloo process that is sent more than it posted aborts. Pure; used by an edge's thread.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>
#include <tl/expected.hpp>

#include "probes/gloo/failure.h"

namespace collwatch::gloo_probe {

inline constexpr std::uint32_t kPayloadVersion = 2;
inline constexpr std::uint32_t kSmallBytes = 64;
inline constexpr std::uint32_t kMaxLargeBytes = 1024 * 1024;

enum class PayloadKind : std::uint16_t { token = 1, reply, go, large, confirm };

struct Payload {
  PayloadKind kind = PayloadKind::token;
  std::int64_t round = 0;
  std::uint32_t large_bytes = 0;  ///< in a token: the round's large payload, 0 for none
};

/// Marks everything that `sender` sends on the context that both ends know by `context_id`.
std::uint64_t make_seal(std::string_view context_id, std::string_view sender);

/// Writes `payload` over all of `out` (at least kSmallBytes).
void fill_payload(std::span<char> out, const Payload& payload, std::uint64_t seal);

/// The payload in `in`. data_corruption if bytes changed on the way; mismatch if they are intact
/// but of another payload version, sender, context, kind, round or announced size.
tl::expected<Payload, Failure> read_payload(std::span<const char> in, std::uint64_t seal);
tl::expected<Payload, Failure> expect_payload(std::span<const char> in, std::uint64_t seal,
                                              const Payload& expected);

}  // namespace collwatch::gloo_probe
