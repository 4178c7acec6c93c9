// SPDX-License-Identifier: Apache-2.0
//
// What two workers tell each other before they connect: Gloo's own rendezvous record in an envelope
// of ours. Gloo copies a record out of the bytes it is given without looking, so nothing reaches it
// that is damaged, of another build or of another shape; and the record is where the address of the
// peer's listener stands. Pure; used by the edge and group threads.
#pragma once

#include <sys/socket.h>

#include <optional>
#include <string_view>
#include <tl/expected.hpp>

#include "probes/gloo/failure.h"

namespace collwatch::gloo_probe {

/// Gloo's record, sealed for the meeting.
wire::Blob wrap_record(const wire::Blob& record, std::string_view build);

/// The record inside, or mismatch: another build, damaged, or not a record for `size` members.
tl::expected<wire::Blob, Failure> unwrap_record(const wire::Blob& blob, std::string_view build,
                                                int size);

/// The listener in a record of a Gloo whose device has one for all pairs (2023 and later); nothing
/// for the others, where each pair listens for itself and takes any caller for its peer.
std::optional<sockaddr_storage> listener_of(const wire::Blob& record);

/// Whether the member of `own` dials that of `peer`: Gloo lets the larger address dial.
bool dials(const sockaddr_storage& own, const sockaddr_storage& peer);

}  // namespace collwatch::gloo_probe
