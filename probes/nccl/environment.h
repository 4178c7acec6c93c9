// SPDX-License-Identifier: Apache-2.0
//
// The environment that libnccl sees in the probe: nothing of the service's or an administrator's,
// a fixed set that keeps the probe small, silent to the job's status service and bounded in time,
// and of the job's own only what is needed to reach the other nodes as it does. What is set here
// wins over /etc/nccl.conf. The choice is pure; apply() changes this process, before any library is
// loaded.
#pragma once

#include <string>
#include <utility>
#include <vector>

namespace collwatch::nccl_probe {

using Variables = std::vector<std::pair<std::string, std::string>>;

/// `job`: the training process' environment as /proc has it, "NAME=value" each ended by a zero
/// byte; empty: no job. `same_user`: it runs as we do, so that what it names may be loaded.
Variables probe_environment(const std::string& job, bool same_user);

/// Removes every variable that steers NCCL, CUDA or their network plugins, then sets these.
void apply(const Variables& variables);

}  // namespace collwatch::nccl_probe
