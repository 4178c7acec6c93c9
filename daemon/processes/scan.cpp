// SPDX-License-Identifier: Apache-2.0
//
// All processes get a cheap look, those that may be ranks a thorough one.
#include "daemon/processes/scan.h"

#include <algorithm>
#include <cstdlib>
#include <set>
#include <tuple>

#include "daemon/processes/activity.h"
#include "daemon/processes/connections.h"
#include "daemon/processes/family.h"
#include "daemon/processes/findings.h"
#include "daemon/processes/flight_files.h"
#include "daemon/processes/gather.h"
#include "daemon/processes/identity.h"
#include "daemon/processes/jobs.h"
#include "daemon/processes/versions.h"

namespace collwatch::processes {
namespace {

constexpr std::size_t kMostProcesses = 65536;
constexpr std::size_t kMostRanks = 256;
/// A program that has run for so long does not become another one any more.
constexpr double kSettledSeconds = 60;

struct Candidate {
  Process process;
  Weight weight = Weight::carrier;
  bool by_itself = false;  ///< its variables alone make it a rank
  bool wanted = false;     ///< asked for by its pid
  std::vector<std::string> files, threads;
  OpenFiles open;
  Namespaces spaces;
  Environment environment;
};

class Look {
 public:
  Look(const Surroundings& here, const ProcessReport* previous, TimePoint now,
       std::optional<int> also)
      : here_(here), previous_(previous), also_(also) {
    report_.at = now;
    deadline_ = here.clock() + here.time_limit;
    if (previous == nullptr) return;
    report_.window_seconds = std::chrono::duration<double>(now - previous->at).count();
    report_.memory.file_versions = previous->memory.file_versions;
  }

  ProcessReport done() {
    uptime_ = read_uptime();
    report_.driver = driver_version(read_some(here_.proc + "/driver/nvidia/version", 1024).data);
    own_ = read_namespaces(here_.proc + "/self");
    for (const int pid : numbered_entries(here_.proc, kMostProcesses)) {
      if (too_late()) break;
      glance(pid);
    }
    keep_ranks();
    read_networks();
    for (Candidate& candidate : candidates_) study(candidate);
    report_.jobs =
        jobs_of(report_.processes, previous_ != nullptr ? previous_->jobs : std::vector<Job>());
    report_.findings = findings_of(report_.processes, report_.jobs, facts_, report_.window_seconds);
    return std::move(report_);
  }

 private:
  bool too_late() {
    report_.cut_short = report_.cut_short || here_.clock() > deadline_;
    return report_.cut_short;
  }

  double read_uptime() const {
    const Bytes text = read_some(here_.proc + "/uptime", 128);
    const auto words = words_of(text.data);
    return words.empty() ? 0 : std::strtod(std::string(words[0]).c_str(), nullptr);
  }

  const Process* known(int pid, const Stat& stat) const {
    if (previous_ == nullptr) return nullptr;
    for (const Process& process : previous_->processes) {
      if (process.pid == pid && process.start_ticks == stat.start_ticks) return &process;
    }
    return nullptr;
  }

  bool is_stranger(int pid, const Stat& stat) const {
    if (previous_ == nullptr) return false;
    const auto found = previous_->memory.strangers.find(pid);
    return found != previous_->memory.strangers.end() &&
           found->second.start_ticks == stat.start_ticks && found->second.name == stat.name;
  }

  void fill_from_stat(Process& process, int pid, const Stat& stat) const {
    process.pid = pid;
    process.parent = stat.parent;
    process.start_ticks = stat.start_ticks;
    process.state = stat.state;
    process.name = stat.name;
    process.cpu_seconds = static_cast<double>(stat.cpu_ticks) / here_.ticks_per_second;
    process.age_seconds =
        std::max(0.0, uptime_ - static_cast<double>(stat.start_ticks) / here_.ticks_per_second);
  }

  /// Whether it may be a rank, by what is cheap to know.
  void glance(int pid) {
    const std::string folder = folder_of_process(here_.proc, pid);
    const auto stat = read_stat(folder);
    if (!stat || stat->kernel_thread || pid == here_.own_pid) return;
    parents_[pid] = stat->parent;
    if (stat->state == 'Z' || stat->state == 'X') return;
    ++report_.looked_at;
    const bool wanted = also_ == pid;
    if (stat->state == 'D') {
      glance_blocked(pid, *stat);
      return;
    }
    if (!wanted && is_stranger(pid, *stat)) {
      remember_stranger(pid, *stat);
      return;
    }
    const ReadEnvironment read = read_environment(folder);
    if (read.state != ReadState::ok) {
      if (read.state == ReadState::denied) ++report_.unreadable;
      return;
    }
    const auto claimed = claimed_identity(read.environment);
    const Weight by_name = weight_of_name(stat->name, false);
    Candidate candidate;
    // Ranks that a Python program forks have their rank as an argument: only threads tell.
    if (!claimed && by_name == Weight::interpreter) candidate.threads = read_threads(folder);
    fill_from_stat(candidate.process, pid, *stat);
    candidate.environment = read.environment;
    note_backend_signs(candidate.process, candidate.threads, {});
    if (!claimed && !candidate.process.names_threads && !wanted) {
      const bool settled = candidate.process.age_seconds > kSettledSeconds;
      if (settled && by_name != Weight::interpreter) remember_stranger(pid, *stat);
      return;
    }
    candidate.process.identity =
        claimed ? claimed->identity : identity_without_rank(read.environment);
    candidate.by_itself = wanted || (claimed && claimed->by_itself);
    candidate.wanted = wanted;
    weigh(candidate, by_name);
    candidates_.push_back(std::move(candidate));
  }

  /// In state D even reading its memory map may not return. What was known of it is shown again.
  void glance_blocked(int pid, const Stat& stat) {
    const Process* const before = known(pid, stat);
    if (before == nullptr) {
      ++report_.blocked;
      return;
    }
    Candidate candidate;
    candidate.process = *before;
    fill_from_stat(candidate.process, pid, stat);
    candidate.weight = Weight::group;
    candidate.by_itself = true;
    candidates_.push_back(std::move(candidate));
  }

  void remember_stranger(int pid, const Stat& stat) {
    report_.memory.strangers[pid] = {stat.start_ticks, stat.name};
  }

  void weigh(Candidate& candidate, Weight by_name) {
    Process& process = candidate.process;
    const std::string folder = folder_of_process(here_.proc, process.pid);
    const auto command = parse_command_line(read_some(folder + "/cmdline", 16384).data);
    process.program = program_of(command);
    if (process.program.empty()) process.program = process.name;
    candidate.weight = is_launcher(command) ? Weight::carrier : by_name;
    if (candidate.weight == Weight::carrier && !candidate.wanted) return;
    if (candidate.threads.empty()) candidate.threads = read_threads(folder);
    candidate.files = read_training_files(folder);
    note_backend_signs(process, candidate.threads, candidate.files);
    const bool python_runs = !command.empty() && command[0].find("python") != std::string::npos;
    if (python_runs) candidate.weight = Weight::interpreter;
    if (!libraries_among(candidate.files).empty()) candidate.weight = Weight::library;
    if (process.names_threads || candidate.wanted) candidate.weight = Weight::group;
  }

  /// Drops whoever only carries a rank's variables.
  void keep_ranks() {
    std::vector<Relative> relatives;
    for (Candidate& candidate : candidates_) {
      Identity& identity = candidate.process.identity;
      if (identity.job.empty()) identity.job = "unnamed";
      if (!candidate.by_itself && candidate.weight < Weight::library) continue;
      const int pid = candidate.process.pid;
      const bool alone = candidate.wanted || !identity.rank;
      const std::string who =
          alone ? "pid " + std::to_string(pid) : "rank " + std::to_string(*identity.rank);
      relatives.push_back({pid, identity.job + " " + who, candidate.weight});
    }
    const std::vector<int> ranks = ranks_among(relatives, parents_);
    std::vector<Candidate> kept;
    for (Candidate& candidate : candidates_) {
      if (!std::binary_search(ranks.begin(), ranks.end(), candidate.process.pid)) continue;
      kept.push_back(std::move(candidate));
    }
    std::stable_sort(kept.begin(), kept.end(), [](const Candidate& a, const Candidate& b) {
      const Identity& left = a.process.identity;
      const Identity& right = b.process.identity;
      return std::tie(left.job, left.rank) < std::tie(right.job, right.rank);
    });
    report_.cut_short = report_.cut_short || kept.size() > kMostRanks;
    if (kept.size() > kMostRanks) kept.erase(kept.begin() + kMostRanks, kept.end());
    candidates_ = std::move(kept);
  }

  void read_networks() {
    const Bytes text = read_some(here_.proc + "/sys/net/ipv4/ip_local_port_range", 128);
    const auto range = words_of(text.data);
    const int first = range.empty() ? 32768 : whole_number(range[0]).value_or(32768);
    for (Candidate& candidate : candidates_) {
      const std::string folder = folder_of_process(here_.proc, candidate.process.pid);
      candidate.open = read_open_files(folder);
      candidate.spaces = read_namespaces(folder);
      for (const std::uint64_t inode : candidate.open.sockets) of_ranks_.insert(inode);
      const auto [place, is_new] = networks_.try_emplace(candidate.spaces.network);
      if (!is_new) continue;
      Network& network = place->second;
      network = read_network(folder);
      network.first_dynamic_port = first;
      network.ours = !own_.network.empty() && own_.network == candidate.spaces.network;
      if (network.ours && here_.own_addresses) here_.own_addresses(network.addresses);
      auto counted = network.ours && here_.own_sockets ? here_.own_sockets() : std::nullopt;
      network.sockets = counted ? std::move(*counted) : read_sockets(folder);
    }
    for (const auto& entry : networks_) {
      indexes_.emplace(entry.first, SocketIndex(entry.second));
    }
  }

  void study(Candidate& candidate) {
    Process& process = candidate.process;
    const std::string folder = folder_of_process(here_.proc, process.pid);
    const Network& network = networks_.at(candidate.spaces.network);
    process.own_network = network.ours;
    process.container = candidate.spaces.pids != own_.pids || candidate.spaces.files != own_.files;
    const std::string status = read_some(folder + "/status", 16384).data;
    process.inner_pid = inner_pid(status);
    process.flight = {};
    process.flight.user = file_user(status);
    process.gpus = candidate.open.gpus;
    process.rdma = candidate.open.rdma;
    process.connections.clear();
    process.listeners.clear();
    process.loopback_listeners.clear();
    process.moved.reset();
    process.cpu_ratio.reset();
    process.progress = Progress::unknown;
    if (process.state == 'D') {
      process.wait_channel = printable(read_some(folder + "/wchan", 64).data, 64);
    } else {
      study_memory(candidate, folder);
    }
    compare(candidate, network);
    judge_backend(process);
    judge_progress(process, report_.window_seconds);
    report_.processes.push_back(std::move(process));
  }

  /// What can block while it is in state D.
  void study_memory(Candidate& candidate, const std::string& folder) {
    Process& process = candidate.process;
    const auto found = candidate.environment.find("GLOO_SOCKET_IFNAME");
    if (found != candidate.environment.end()) process.gloo_interface = found->second;
    if (!too_late()) {
      read_versions(process, folder + "/root", candidate.files, report_.memory.file_versions);
    }
    if (here_.flight_files && !too_late()) {
      const bool same_files = candidate.spaces.files == own_.files;
      find_flight_files(process, candidate.environment, folder, same_files);
    }
    NameFacts& facts = facts_[process.pid];
    facts.interfaces = networks_.at(candidate.spaces.network).interfaces;
    const auto named = candidate.environment.find("HOSTNAME");
    if (candidate.spaces.names == own_.names) {
      facts.host_name = here_.host_name;
    } else if (named != candidate.environment.end()) {
      facts.host_name = named->second;
    }
    if (const auto hosts = FileInRoot::open(folder + "/root", "/etc/hosts")) {
      facts.loopback_of_name = loopback_of_name(hosts->read(65536), facts.host_name);
    }
  }

  /// CPU time and bytes against the previous look.
  void compare(Candidate& candidate, const Network& network) {
    Process& process = candidate.process;
    Memory::Counted& now = report_.memory.counted[process.pid];
    now.start_ticks = process.start_ticks;
    now.cpu_seconds = process.cpu_seconds;
    const Memory::Counted* before = nullptr;
    if (previous_ != nullptr) {
      const auto found = previous_->memory.counted.find(process.pid);
      const bool same = found != previous_->memory.counted.end() &&
                        found->second.start_ticks == process.start_ticks;
      if (same) before = &found->second;
    }
    show_connections(process, candidate.open.sockets, network,
                     indexes_.at(candidate.spaces.network), of_ranks_,
                     before != nullptr ? &before->bytes : nullptr, now.bytes);
    if (before == nullptr || !report_.window_seconds || *report_.window_seconds <= 0) return;
    process.cpu_ratio =
        std::max(0.0, process.cpu_seconds - before->cpu_seconds) / *report_.window_seconds;
  }

  const Surroundings& here_;
  const ProcessReport* previous_;
  std::optional<int> also_;
  TimePoint deadline_;
  double uptime_ = 0;
  Namespaces own_;
  ProcessReport report_;
  std::vector<Candidate> candidates_;
  std::map<int, int> parents_;
  std::set<std::uint64_t> of_ranks_;
  std::map<std::string, Network> networks_;
  std::map<std::string, SocketIndex> indexes_;
  std::map<int, NameFacts> facts_;
};

}  // namespace

ProcessReport scan(const Surroundings& here, const ProcessReport* previous, TimePoint now,
                   std::optional<int> also) {
  return Look(here, previous, now, also).done();
}

}  // namespace collwatch::processes
