// SPDX-License-Identifier: Apache-2.0
//
// Ancestors are followed for a bounded number of steps: pids are reused while we look.
#include "daemon/processes/family.h"

#include <algorithm>
#include <array>
#include <set>
#include <string_view>

namespace collwatch::processes {
namespace {

constexpr int kDeepest = 64;

bool has_ancestor_in(int pid, const std::set<int>& pids, const std::map<int, int>& parents) {
  for (int step = 0; step < kDeepest; ++step) {
    const auto parent = parents.find(pid);
    if (parent == parents.end() || parent->second <= 1) return false;
    pid = parent->second;
    if (pids.contains(pid)) return true;
  }
  return false;
}

}  // namespace

std::vector<int> ranks_among(const std::vector<Relative>& relatives,
                             const std::map<int, int>& parents) {
  std::map<std::string, Weight> heaviest;
  for (const Relative& relative : relatives) {
    Weight& weight = heaviest[relative.family];
    weight = std::max(weight, relative.weight);
  }
  std::map<std::string, std::set<int>> equals;
  for (const Relative& relative : relatives) {
    if (relative.weight == heaviest[relative.family] && relative.weight != Weight::carrier) {
      equals[relative.family].insert(relative.pid);
    }
  }
  std::vector<int> ranks;
  for (const auto& [family, pids] : equals) {
    for (const int pid : pids) {
      const bool own_group = heaviest[family] == Weight::group;
      if (own_group || !has_ancestor_in(pid, pids, parents)) ranks.push_back(pid);
    }
  }
  std::sort(ranks.begin(), ranks.end());
  return ranks;
}

Weight weight_of_name(const std::string& name, bool launcher) {
  static constexpr auto kCarriers = std::to_array<std::string_view>(
      {"sh",      "bash",       "dash",   "zsh",       "ksh",    "fish",       "busybox",
       "tee",     "sleep",      "cat",    "tail",      "grep",   "timeout",    "nice",
       "numactl", "taskset",    "env",    "sudo",      "su",     "ssh",        "sshd",
       "tmux",    "screen",     "tini",   "dumb-init", "srun",   "slurmstepd", "nsys",
       "ncu",     "perf",       "strace", "gdb",       "py-spy", "nvidia-smi", "tensorboard",
       "wandb",   "wandb-core", "pause"});
  const bool ours = name.compare(0, 9, "collwatch") == 0;
  if (launcher || ours || std::find(kCarriers.begin(), kCarriers.end(), name) != kCarriers.end()) {
    return Weight::carrier;
  }
  const bool python = name.compare(0, 6, "python") == 0 || name.compare(0, 3, "pt_") == 0 ||
                      name.compare(0, 5, "ray::") == 0;
  return python ? Weight::interpreter : Weight::program;
}

}  // namespace collwatch::processes
