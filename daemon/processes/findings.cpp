// SPDX-License-Identifier: Apache-2.0
//
// One function a failure class.
#include "daemon/processes/findings.h"

#include <algorithm>
#include <set>
#include <string_view>

#include "daemon/processes/activity.h"
#include "daemon/processes/proc_text.h"

namespace collwatch::processes {
namespace {

using model::Confidence;
using model::Fingerprint;

/// Barriers and small objects over a CPU group beside the GPUs are ordinary; gradients are not.
constexpr double kGradientBytesPerSecond = 1 << 20;

std::string rank_words(const Identity& identity) {
  return identity.rank ? "rank " + std::to_string(*identity.rank) : "a process of unknown rank";
}

std::string joined(const std::vector<std::string>& words) {
  std::string text;
  for (const std::string& word : words) text += (text.empty() ? "" : ", ") + word;
  return text;
}

Finding about(const Process& process, Fingerprint id, Confidence confidence, std::string text) {
  Finding finding;
  finding.id = id;
  finding.confidence = confidence;
  finding.job = process.identity.job;
  finding.rank = process.identity.rank;
  finding.pid = process.pid;
  finding.text = std::move(text);
  return finding;
}

/// Other hosts are in it by its variables, or it is connected to them.
bool spans_hosts(const Process& process) {
  if (process.identity.spans_hosts) return *process.identity.spans_hosts;
  return std::any_of(
      process.connections.begin(), process.connections.end(),
      [](const Connections& peer) { return peer.kind != Connections::Kind::other && !peer.here; });
}

void find_fallback(const Process& process, double window, std::vector<Finding>& findings) {
  if (process.backend != Backend::gloo || process.gpus.empty() || !process.moved) return;
  const double rate = static_cast<double>(*process.moved) / window;
  if (rate < kGradientBytesPerSecond) return;
  Finding finding = about(process, Fingerprint::gloo_fallback_on_gpu, Confidence::medium,
                          rank_words(process.identity) +
                              " holds a GPU and moves its tensors through "
                              "Gloo");
  finding.evidence = {
      "holds open: " + joined(process.gpus), process.backend_why,
      std::to_string(static_cast<long>(rate) >> 20) + " MiB/s over TCP connections to other ranks"};
  finding.fix =
      "Use NCCL for CUDA tensors, for instance init_process_group(\"cpu:gloo,cuda:nccl\"), and let "
      "the job fail where NCCL cannot be initialised.";
  findings.push_back(std::move(finding));
}

/// The names in GLOO_SOCKET_IFNAME, which takes several with commas.
std::vector<std::string> names_in(const std::string& list) {
  std::vector<std::string> names;
  for (std::size_t at = 0; at <= list.size();) {
    const std::size_t comma = std::min(list.find(',', at), list.size());
    if (comma > at) names.push_back(list.substr(at, comma - at));
    at = comma + 1;
  }
  return names;
}

std::string set_it_to(const NameFacts& facts) {
  std::vector<std::string> others;
  for (const std::string& name : facts.interfaces) {
    if (name != "lo") others.push_back(name);
  }
  return "Set GLOO_SOCKET_IFNAME to the interface that the other nodes reach" +
         (others.empty() ? std::string() : " (here are " + joined(others) + ")") +
         " and start the job again.";
}

void find_wrong_name(const Process& process, const NameFacts& facts,
                     std::vector<Finding>& findings) {
  for (const std::string& name : names_in(process.gloo_interface)) {
    // Where a process group exists the setting was not used, or overridden: it did no harm yet.
    Confidence confidence =
        process.backend == Backend::unknown ? Confidence::medium : Confidence::low;
    std::string trouble;
    const bool known =
        std::find(facts.interfaces.begin(), facts.interfaces.end(), name) != facts.interfaces.end();
    if (name.find_first_of("^=") != std::string::npos) {
      trouble = "has NCCL's syntax, which Gloo takes for a name";
    } else if (!facts.interfaces.empty() && !known) {
      trouble = "names an interface that is not there";
    } else if (name == "lo" && spans_hosts(process)) {
      trouble = "is the loopback interface, and the job has ranks on other hosts";
      // Gloo can work like this for a while: only one side of a pair dials.
      if (process.backend == Backend::gloo) confidence = Confidence::medium;
    } else {
      continue;
    }
    Finding finding = about(process, Fingerprint::gloo_wrong_interface, confidence,
                            "GLOO_SOCKET_IFNAME=" + process.gloo_interface + " of " +
                                rank_words(process.identity) + " " + trouble);
    if (!facts.interfaces.empty()) {
      finding.evidence.push_back("interfaces that it has: " + joined(facts.interfaces));
    }
    if (process.identity.world_size) {
      finding.evidence.push_back(
          "WORLD_SIZE " + std::to_string(*process.identity.world_size) +
          (process.identity.local_world_size
               ? ", of which here " + std::to_string(*process.identity.local_world_size)
               : std::string()));
    }
    finding.fix = set_it_to(facts);
    findings.push_back(std::move(finding));
    return;
  }
}

/// Without GLOO_SOCKET_IFNAME Gloo publishes what the host's own name resolves to.
void find_loopback_name(const Process& process, const NameFacts& facts,
                        std::vector<Finding>& findings) {
  const bool cannot_matter = !process.gloo_interface.empty() || process.backend == Backend::nccl;
  if (cannot_matter || facts.loopback_of_name.empty() || !spans_hosts(process)) return;
  // Gloo listens at the address that it publishes, so such a listener says that it has happened.
  const std::string published = facts.loopback_of_name + ":";
  std::string listener;
  for (const std::string& at : process.loopback_listeners) {
    if (at.compare(0, published.size(), published) == 0) listener = at;
  }
  const bool happened = !listener.empty() && process.backend == Backend::gloo;
  Finding finding = about(
      process, Fingerprint::gloo_wrong_interface, happened ? Confidence::medium : Confidence::low,
      rank_words(process.identity) + (happened ? " publishes " : " may publish ") +
          facts.loopback_of_name + " as its address, and the job has ranks on other hosts");
  finding.evidence = {
      "/etc/hosts gives " + facts.host_name + " the address " + facts.loopback_of_name,
      "GLOO_SOCKET_IFNAME is not set"};
  if (happened) finding.evidence.push_back("listens at " + listener);
  finding.fix = set_it_to(facts) + " Or take the line for " + facts.host_name +
                " with a loopback address out of /etc/hosts.";
  findings.push_back(std::move(finding));
}

void find_two_libraries(const Process& process, std::vector<Finding>& findings) {
  std::set<std::string> paths;
  std::vector<std::string> told;
  for (const Library& library : process.libraries) {
    if (library.name != "nccl" || !paths.insert(library.path).second) continue;
    told.push_back(library.path + (library.version.empty() ? "" : " (" + library.version + ")"));
  }
  if (paths.size() < 2) return;
  Finding finding = about(process, Fingerprint::version_mismatch, Confidence::medium,
                          rank_words(process.identity) + " has two NCCL libraries mapped");
  finding.evidence = told;
  finding.fix = "Keep one: look for LD_PRELOAD, LD_LIBRARY_PATH and a second nvidia-nccl package.";
  findings.push_back(std::move(finding));
}

/// Ranks of one job on one host whose versions differ.
void find_differing(const std::vector<Process>& processes, const Job& job, const char* what,
                    std::string Process::*version, std::vector<Finding>& findings) {
  std::map<std::string, std::vector<const Process*>> by_version;
  for (const Process& process : processes) {
    if (process.identity.job == job.job && !(process.*version).empty()) {
      by_version[process.*version].push_back(&process);
    }
  }
  if (by_version.size() < 2) return;
  const auto odd = std::min_element(
      by_version.begin(), by_version.end(),
      [](const auto& a, const auto& b) { return a.second.size() < b.second.size(); });
  const Process& first = *odd->second.front();
  Finding finding =
      about(first, Fingerprint::version_mismatch, Confidence::high,
            "ranks of " + job.job + " on this host run different versions of " + what);
  for (const auto& [number, members] : by_version) {
    std::vector<std::string> ranks;
    for (const Process* member : members) ranks.push_back(rank_words(member->identity));
    finding.evidence.push_back(number + ": " + joined(ranks));
  }
  finding.fix = "Start all ranks from one environment or image.";
  findings.push_back(std::move(finding));
}

void find_missing(const Job& job, std::vector<Finding>& findings) {
  if (job.missing.empty() || !job.stalled) return;
  for (const int rank : job.missing) {
    Finding finding;
    finding.id = Fingerprint::worker_exit;
    finding.confidence = Confidence::medium;
    finding.job = job.job;
    finding.rank = rank;
    finding.text = "rank " + std::to_string(rank) +
                   " has no process on this host any more, and the " +
                   std::to_string(job.processes) + " that are left wait";
    std::vector<std::string> left;
    for (const int other : job.ranks) left.push_back(std::to_string(other));
    finding.evidence = {"ranks that have a process: " + joined(left),
                        "none of them computes or sends"};
    finding.fix = "Read the end of rank " + std::to_string(rank) +
                  "'s log and the kernel log (collwatch diagnose), then start the job again.";
    findings.push_back(std::move(finding));
  }
}

}  // namespace

std::vector<Finding> findings_of(const std::vector<Process>& processes,
                                 const std::vector<Job>& jobs,
                                 const std::map<int, NameFacts>& facts,
                                 std::optional<double> window_seconds) {
  std::vector<Finding> findings;
  for (const Job& job : jobs) {
    find_missing(job, findings);
    find_differing(processes, job, "PyTorch", &Process::torch, findings);
    find_differing(processes, job, "NCCL", &Process::nccl, findings);
  }
  for (const Process& process : processes) {
    const auto found = facts.find(process.pid);
    const NameFacts none;
    const NameFacts& names = found == facts.end() ? none : found->second;
    find_wrong_name(process, names, findings);
    find_loopback_name(process, names, findings);
    find_two_libraries(process, findings);
    if (window_seconds && *window_seconds >= kShortestWindow) {
      find_fallback(process, *window_seconds, findings);
    }
  }
  return findings;
}

}  // namespace collwatch::processes
