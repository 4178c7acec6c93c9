// SPDX-License-Identifier: Apache-2.0
//
// Ranks of a node are consecutive: rank minus local rank is where the node's part begins.
#include "daemon/processes/jobs.h"

#include <algorithm>
#include <set>

namespace collwatch::processes {
namespace {

constexpr int kMostExpected = 1024;

/// The ranks that belong on this host by what one of them says.
void expect_beside(const Process& process, std::set<int>& expected) {
  const Identity& self = process.identity;
  if (!self.rank) return;
  int first = 0;
  int count = 0;
  if (self.local_rank && self.local_world_size && *self.local_rank <= *self.rank) {
    first = *self.rank - *self.local_rank;
    count = *self.local_world_size;
  } else if (self.spans_hosts == false && self.world_size) {
    count = *self.world_size;
  }
  if (count > kMostExpected) return;
  for (int i = 0; i < count; ++i) expected.insert(first + i);
}

Job job_of(const std::vector<const Process*>& members, const Job* before) {
  Job job;
  std::set<int> present;
  std::set<int> expected;
  double youngest = members.front()->age_seconds;
  job.stalled = true;
  for (const Process* process : members) {
    const Identity& self = process->identity;
    job.job = self.job;
    ++job.processes;
    if (self.rank) present.insert(*self.rank);
    expect_beside(*process, expected);
    job.world_size = std::max(job.world_size, self.world_size.value_or(0));
    youngest = std::min(youngest, process->age_seconds);
    job.backend = std::max(job.backend, process->backend);  // NCCL beside Gloo groups is usual
    if (job.torch.empty()) job.torch = process->torch;
    if (job.nccl.empty()) job.nccl = process->nccl;
    if (job.cuda.empty()) job.cuda = process->cuda;
    job.stalled = job.stalled && process->progress == Progress::stalled;
  }
  job.ranks.assign(present.begin(), present.end());
  for (const int rank : expected) {
    if (present.contains(rank)) continue;
    const auto knew = [&](const std::vector<int>& ranks) {
      return std::find(ranks.begin(), ranks.end(), rank) != ranks.end();
    };
    const bool was_here = before != nullptr && (knew(before->ranks) || knew(before->missing));
    if (was_here || youngest >= kStartupSeconds) job.missing.push_back(rank);
  }
  return job;
}

}  // namespace

std::vector<Job> jobs_of(const std::vector<Process>& processes, const std::vector<Job>& previous) {
  std::map<std::string, std::vector<const Process*>> members;
  for (const Process& process : processes) members[process.identity.job].push_back(&process);
  std::vector<Job> jobs;
  for (const auto& entry : members) {
    const auto before = std::find_if(previous.begin(), previous.end(),
                                     [&](const Job& job) { return job.job == entry.first; });
    jobs.push_back(job_of(entry.second, before == previous.end() ? nullptr : &*before));
  }
  return jobs;
}

}  // namespace collwatch::processes
