// SPDX-License-Identifier: Apache-2.0
//
// Who a process is in a job, from the variables that launchers set. Pure.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "daemon/processes/proc_text.h"
#include "daemon/processes/report.h"

namespace collwatch::processes {

struct Claimed {
  Identity identity;
  /// False for what every program of an allocation gets (SLURM_PROCID, OMPI_COMM_WORLD_RANK): it
  /// takes a training library beside it to make a rank.
  bool by_itself = false;
};

/// Nothing where no variable says that this is a rank.
std::optional<Claimed> claimed_identity(const Environment& environment);

/// Who it may be although no variable gives it a rank: the job, the master.
Identity identity_without_rank(const Environment& environment);

/// torchrun, mpirun, accelerate, ...: they carry a rank's variables and are none.
bool is_launcher(const std::vector<std::string>& command_line);

/// The script, module or program: "train.py". Never an argument, which may be a secret.
std::string program_of(const std::vector<std::string>& command_line);

}  // namespace collwatch::processes
