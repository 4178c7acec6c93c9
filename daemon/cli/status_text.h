// SPDX-License-Identifier: Apache-2.0
//
// What `collwatch status` says to a person: one sentence first, then a compact table. Pure.
#pragma once

#include <string>

#include "daemon/cli/status_reply.h"
#include "daemon/cli/table.h"

namespace collwatch::cli {

/// "All 4 members healthy, round 1234, 0.4 s ago.", or a line per verdict, worst first: "node n2 is
/// down (host_stall), seen by n0, n1, n3 since 12:01:03: gloo_collective_timeout [page]".
std::string sentence(const StatusReply& status, WallTime now);

/// The sentence of a quiet ring, whatever verdicts there are.
std::string summary(const StatusReply& status);

/// The sentence and the tables of peers, collectives, fingerprints.
std::string status_text(const StatusReply& status, WallTime now, Colour colour);

/// "node n2 is down (host_stall)": who, in the words of the kind and reason.
std::string accusation(const StatusReply::Verdict& verdict);

/// "this node's gloo worker is absent: ...": why this node itself sees nothing; empty if it can.
std::string own_trouble(const StatusReply& status);

/// "n1 left, n2 stale_view": the members in any of `states`, or all that are not ok.
std::string members_in(const StatusReply& status, const std::vector<std::string>& states = {});

/// "0.4 s", "3 min"
std::string age_text(double seconds);

}  // namespace collwatch::cli
