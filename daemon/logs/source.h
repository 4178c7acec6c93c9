// SPDX-License-Identifier: Apache-2.0
//
// Which files there are to read, and what their paths already say about who wrote them: torchrun's
// attempt_0/3/stderr.log, Slurm's job.%t.out, Ray's worker files, Kubernetes' /var/log/pods, or
// plainly rank3.log. Used by `collwatch diagnose` and by the daemon's log watcher; no state.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "probes/model/result.h"

namespace collwatch::logs {

/// What a path says about the process that wrote the file. Nothing here is certain: text in the
/// file that says otherwise wins.
struct PathHint {
  std::optional<int> rank;
  std::optional<int> local_rank;
  std::optional<int> attempt;  ///< restart number of the worker group, from 0
  std::string host;            ///< or pod
  std::optional<long> pid;
};

struct Source {
  std::string name;  ///< as given, or as found under a folder that was given
  bool is_stdin = false;
  bool is_no_log = false;  ///< by its ending; a dump it may be
  bool may_wait = false;   ///< a pipe that was named: its writer may take its time
  std::string problem;     ///< why nobody can look into it: a folder that may not be entered
  PathHint hint;
};

PathHint hint_from_path(std::string_view path);

/// Files and folders as given on the command line, "-" for standard input; folders are walked, what
/// cannot be a log (by its ending) is passed over, everything comes in the order of the names.
model::Result<std::vector<Source>> find_sources(const std::vector<std::string>& arguments);

/// Where several names differ in one number only, and the numbers count from 0 without a gap, the
/// number is taken as the rank (job.0.out, job.1.out, ...). Names that already say more are left
/// alone.
void infer_ranks(std::vector<Source>& sources);

}  // namespace collwatch::logs
