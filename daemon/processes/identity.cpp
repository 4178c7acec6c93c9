// SPDX-License-Identifier: Apache-2.0
//
// torchrun's names first, since scripts under Slurm and MPI set them too and PyTorch reads them.
#include "daemon/processes/identity.h"

#include <algorithm>
#include <array>

namespace collwatch::processes {
namespace {

constexpr int kLargestWorld = 10'000'000;

std::string text_of(const Environment& environment, std::string_view name) {
  const auto found = environment.find(name);
  return found == environment.end() ? std::string() : found->second;
}

std::optional<int> number_of(const Environment& environment, std::string_view name) {
  const auto found = environment.find(name);
  return found == environment.end() ? std::nullopt : whole_number(found->second);
}

struct Names {
  std::string_view rank, world, local_rank, local_world;
  bool by_itself;
};
constexpr auto kNames = std::to_array<Names>({
    {"RANK", "WORLD_SIZE", "LOCAL_RANK", "LOCAL_WORLD_SIZE", true},
    {"OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE", "OMPI_COMM_WORLD_LOCAL_RANK",
     "OMPI_COMM_WORLD_LOCAL_SIZE", false},
    {"SLURM_PROCID", "SLURM_STEP_NUM_TASKS", "SLURM_LOCALID", "", false},
    {"SLURM_PROCID", "SLURM_NTASKS", "SLURM_LOCALID", "", false},
    {"SLURM_PROCID", "SLURM_NPROCS", "SLURM_LOCALID", "", false},
    {"PMI_RANK", "PMI_SIZE", "", "", false},
});

std::string job_of(const Environment& environment) {
  static constexpr std::array<std::pair<std::string_view, std::string_view>, 5> kSchedulers = {
      {{"SLURM_JOB_ID", "slurm:"},
       {"PBS_JOBID", "pbs:"},
       {"LSB_JOBID", "lsf:"},
       {"RAY_JOB_ID", "ray:"},
       {"TORCHELASTIC_RUN_ID", "torchrun:"}}};
  for (const auto& [name, prefix] : kSchedulers) {
    const std::string id = text_of(environment, name);
    if (!id.empty() && id != "none") return std::string(prefix) + printable(id, 64);
  }
  const std::string master = text_of(environment, "MASTER_ADDR");
  if (!master.empty()) return "store:" + master + ":" + text_of(environment, "MASTER_PORT");
  const std::string mpi = text_of(environment, "PMIX_NAMESPACE");
  return mpi.empty() ? "" : "mpi:" + printable(mpi, 64);
}

std::optional<bool> spans_hosts(const Environment& environment, const Identity& identity) {
  if (identity.world_size && identity.local_world_size) {
    return *identity.world_size > *identity.local_world_size;
  }
  for (const std::string_view name : {"GROUP_WORLD_SIZE", "SLURM_STEP_NUM_NODES"}) {
    if (const auto nodes = number_of(environment, name)) return *nodes > 1;
  }
  // An allocation of several nodes may run a job on one of them.
  if (number_of(environment, "SLURM_NNODES") == 1) return false;
  if (identity.master == "localhost" || is_loopback(identity.master)) return false;
  return std::nullopt;
}

std::string_view base_name(std::string_view path) {
  return path.substr(path.rfind('/') + 1);  // npos + 1 is 0
}

bool is_interpreter(std::string_view name) {
  return name.substr(0, 6) == "python" || name == "pypy" || name == "pypy3";
}

/// Where the program stands in a command line: behind an interpreter and its options.
std::size_t program_at(const std::vector<std::string>& words) {
  if (words.empty() || !is_interpreter(base_name(words[0]))) return 0;
  for (std::size_t i = 1; i < words.size(); ++i) {
    if (words[i] == "-m") return std::min(i + 1, words.size() - 1);
    if (words[i] == "-c") return i;
    if (words[i] == "-W" || words[i] == "-X") {
      ++i;
      continue;
    }
    if (words[i].empty() || words[i][0] != '-') return i;
  }
  return 0;
}

}  // namespace

Identity identity_without_rank(const Environment& environment) {
  Identity identity;
  identity.job = job_of(environment);
  identity.master = text_of(environment, "MASTER_ADDR");
  identity.master_port = number_of(environment, "MASTER_PORT").value_or(0);
  identity.restart = number_of(environment, "TORCHELASTIC_RESTART_COUNT");
  identity.node = number_of(environment, "GROUP_RANK");
  if (!identity.node) identity.node = number_of(environment, "SLURM_NODEID");
  return identity;
}

std::optional<Claimed> claimed_identity(const Environment& environment) {
  for (const Names& names : kNames) {
    const auto rank = number_of(environment, names.rank);
    const auto world = number_of(environment, names.world);
    if (!rank || !world || *world > kLargestWorld || *rank >= *world) continue;
    Claimed claimed;
    claimed.by_itself = names.by_itself;
    claimed.identity = identity_without_rank(environment);
    Identity& identity = claimed.identity;
    identity.rank = rank;
    identity.world_size = world;
    identity.told_by = std::string(names.rank);
    identity.local_rank = number_of(environment, names.local_rank);
    identity.local_world_size = number_of(environment, names.local_world);
    identity.spans_hosts = spans_hosts(environment, identity);
    return claimed;
  }
  return std::nullopt;
}

bool is_launcher(const std::vector<std::string>& command_line) {
  static constexpr auto kPrograms = std::to_array<std::string_view>(
      {"torchrun", "accelerate", "deepspeed", "horovodrun", "mpirun", "mpiexec", "orterun",
       "prterun", "prte", "orted", "prted", "srun", "torchx", "torch.distributed.run",
       "torch.distributed.launch", "torch.distributed.elastic", "accelerate.commands.launch",
       "deepspeed.launcher.launch", "deepspeed.launcher.runner"});
  if (command_line.empty()) return false;
  const std::string_view program = base_name(command_line[program_at(command_line)]);
  return std::find(kPrograms.begin(), kPrograms.end(), program) != kPrograms.end();
}

std::string program_of(const std::vector<std::string>& command_line) {
  if (command_line.empty()) return "";
  const std::string& word = command_line[program_at(command_line)];
  return printable(word == "-c" ? "-c" : base_name(word), 48);
}

}  // namespace collwatch::processes
