// SPDX-License-Identifier: Apache-2.0
//
// Asks an agent for what its probes know, for `diagnose --agent`. Blocks for at most the deadlines
// of two requests; an agent that does not answer is a word, too.
#pragma once

#include <string>

#include "daemon/cli/status_reply.h"
#include "daemon/diagnose/agent_word.h"

namespace collwatch::cli {

/// `given` as on the command line.
diagnose::AgentWord ask_for_word(const std::string& given);

/// The same from replies that are at hand; pure.
diagnose::AgentWord word_of(const StatusReply& status, const std::vector<VerdictEvent>& events);

}  // namespace collwatch::cli
