// SPDX-License-Identifier: Apache-2.0
//
// `collwatch check`: an agent's status as one line and an exit code, for Nagios and for
// node-problem-detector. Pure.
#pragma once

#include <string>

#include "daemon/cli/status_reply.h"
#include "probes/model/result.h"

namespace collwatch::cli {

enum class Health { ok, warning, critical, unknown };

struct CheckResult {
  Health health = Health::unknown;
  std::string line;  ///< at most 80 characters, no newline
};

/// Page: critical. Ticket, a suspect older than a round, or members with another member list
/// (stale_view: no group collectives with them): warning. No answer, or no edge that
/// works and so nothing to judge by: unknown.
CheckResult check(const model::Result<StatusReply>& status, WallTime now);

/// Nagios: 0 ok, 1 warning, 2 critical, 3 unknown. node-problem-detector: 0 ok, 1 problem, 2
/// unknown.
enum class CheckStyle { nagios, npd };
int exit_code(Health health, CheckStyle style);

}  // namespace collwatch::cli
