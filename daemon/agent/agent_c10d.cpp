// SPDX-License-Identifier: Apache-2.0
//
// What this node's libtorch can do, looked at once: an event and a part of the status, no
// accusation.
#include "daemon/agent/agent.h"

namespace collwatch::agent {

void Agent::make_c10d_link() {
  C10dLink::Options options;
  options.executable = options_.c10d_executable;
  C10dLink::Handlers handlers;
  handlers.is_calm = [this] { return rounds_done_ && health_.score() == 0; };
  handlers.skipped = [this](model::SkipReason reason, const std::string&) {
    ledger_.count_skip("c10d", reason);
  };
  handlers.done = [this](const exporters::C10d& known) {
    ledger_.note("worker", "done",
                 "libtorch " + known.torch +
                     " was tried with Gloo: " + std::to_string(known.wrong_values.size()) +
                     " ways to wrong values, " + std::to_string(known.unsupported.size()) +
                     " refusals, " + std::to_string(known.crashes.size()) + " crashes");
  };
  c10d_ = std::make_unique<C10dLink>(loop_, std::move(options), std::move(handlers));
}

}  // namespace collwatch::agent
