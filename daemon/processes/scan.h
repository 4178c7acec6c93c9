// SPDX-License-Identifier: Apache-2.0
//
// One look at the training processes of this host. Reads /proc only: no ptrace, nothing is written,
// no signal is sent. May block where the kernel blocks (a process in state D), so the daemon calls
// it in a process of its own; `collwatch inspect` calls it twice.
#pragma once

#include <optional>

#include "daemon/processes/report.h"
#include "daemon/processes/surroundings.h"

namespace collwatch::processes {

/// `previous` gives CPU time and bytes something to be compared with. `also`: this process is shown
/// whatever it looks like.
ProcessReport scan(const Surroundings& here, const ProcessReport* previous, TimePoint now,
                   std::optional<int> also = std::nullopt);

}  // namespace collwatch::processes
