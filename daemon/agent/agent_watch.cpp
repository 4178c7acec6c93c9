// SPDX-License-Identifier: Apache-2.0
//
// The watching half of the agent: what the watcher finds in logs, in the kernel's log and among the
// training processes becomes fingerprints, events and jobs. It accuses nobody: whose fault a line
// is shows only where all logs of a job are read together (collwatch diagnose).
#include <spdlog/spdlog.h>

#include <algorithm>

#include "daemon/agent/agent.h"
#include "daemon/agent/ended_process.h"

namespace collwatch::agent {

void Agent::make_watch_link() {
  WatchLink::Options options;
  options.executable = options_.watch_executable;
  options.node = config_.node;
  WatchLink::Handlers handlers;
  handlers.found = [this](const wire::Finding& finding) { on_finding(finding); };
  handlers.jobs = [this](const wire::WatchedJobs& jobs) { on_jobs(jobs); };
  handlers.up = [this] { ledger_.note("worker", "up", "watcher of logs and kernel running"); };
  handlers.down = [this](model::Reason reason, const std::string& why) {
    jobs_told_ = false;
    ledger_.note("worker", std::string(model::name(reason)), why);
    ledger_.count_restart("watch", std::string(model::name(reason)));
  };
  handlers.trouble = [](std::string text) {
    // Names of files are in it, which anybody may have chosen.
    std::replace_if(
        text.begin(), text.end(), [](char c) { return (c >= 0 && c < 0x20) || c == 0x7f; }, '?');
    spdlog::warn("watch: {}", text);
  };
  handlers.unreaped = [this](int count) { watchers_unreaped_ = count; };
  watch_ = std::make_unique<WatchLink>(loop_, std::move(options), std::move(handlers));
}

void Agent::on_finding(const wire::Finding& finding) {
  // What the driver says of a probe that we have killed is our doing.
  const bool of_gpu = finding.fingerprint == model::Fingerprint::gpu_hardware_xid;
  if (of_gpu && nccl_->was_probe(ended_process(finding.text))) return;
  const auto wall = std::chrono::system_clock::now();
  const Sightings::News news = sightings_.add(finding, base::Clock::now(), wall);
  if (news == Sightings::News::none) return;
  if (news == Sightings::News::again) {
    ledger_.see_again(finding.fingerprint);
    return;
  }
  ledger_.count_fingerprint(finding.fingerprint, finding.source);
  exporters::Event event;
  event.type = "fingerprint";
  event.state = "active";
  exporters::ActiveFingerprint& shown = event.fingerprint.emplace();
  shown.id = finding.fingerprint;
  shown.source = finding.source;
  if (finding.rank >= 0) shown.rank = finding.rank;
  if (!finding.job.empty()) shown.job = finding.job;
  shown.since = wall;
  shown.evidence.push_back(evidence_of(finding));
  event.text = std::string(model::name(finding.fingerprint));
  if (shown.rank) event.text += ", rank " + std::to_string(*shown.rank);
  event.text += ": " + shown.evidence.front();
  ledger_.record(std::move(event));
  evaluate_soon();
}

void Agent::on_jobs(const wire::WatchedJobs& jobs) {
  watched_jobs_ = jobs;
  jobs_.clear();
  jobs_told_ = true;
  job_libnccl_pid_ = 0;
  for (const wire::WatchedJob& job : jobs.jobs) {
    if (!job.nccl_library.empty() && job_libnccl_pid_ == 0) {
      job_libnccl_ = job.nccl_library;
      job_libnccl_pid_ = job.nccl_pid;
    }
    jobs_.push_back({job.job, job.ranks, job.missing, job.processes, job.world_size, job.backend,
                     job.torch, job.nccl, job.stalled});
  }
}

}  // namespace collwatch::agent
