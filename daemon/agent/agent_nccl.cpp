// SPDX-License-Identifier: Apache-2.0
//
// The agent and its NCCL probe: what the probe may know of jobs here, and where its results go.
#include <algorithm>

#include "daemon/agent/agent.h"

namespace collwatch::agent {

void Agent::make_nccl_link() {
  NcclLink::Handlers handlers;
  handlers.jobs = [this] { return jobs_for_nccl(); };
  handlers.ran = [this](const exporters::CollectiveResult& result) {
    ledger_.count_collective(
        result, *std::max_element(config_.nccl.sizes.begin(), config_.nccl.sizes.end()));
  };
  handlers.skipped = [this](model::SkipReason reason) { ledger_.count_skip("nccl", reason); };
  handlers.note = [this](const std::string& state, const std::string& text) {
    ledger_.note("worker", state, text);
  };
  handlers.found = [this](model::Fingerprint id) {
    ledger_.count_fingerprint(id, model::Source::probe);
  };
  handlers.unreaped = [this](int count) { nccl_unreaped_ = count; };
  nccl_ = std::make_unique<NcclLink>(around_, incarnation_, options_.nccl_executable,
                                     std::move(handlers));
}

NcclLink::Jobs Agent::jobs_for_nccl() const {
  NcclLink::Jobs jobs;
  const exporters::Watch watch = watch_->shown();
  const bool watched = std::any_of(watch.sources.begin(), watch.sources.end(), [](const auto& s) {
    return s.source == model::Source::process && s.works;
  });
  jobs.known = watched && jobs_told_;
  jobs.running = std::any_of(jobs_.begin(), jobs_.end(),
                             [](const exporters::Job& job) { return job.processes > 0; });
  jobs.library = job_libnccl_;
  jobs.pid = jobs.running ? job_libnccl_pid_ : 0;
  return jobs;
}

/// A failure of the probe, unless somebody is named already whose absence would explain it.
void Agent::add_nccl_failure(std::map<model::Fingerprint, exporters::ActiveFingerprint>& active) {
  const auto failure = nccl_->believed();
  if (!failure) return;
  if (!active.empty() && failure->rung != wire::Rung::local) return;
  exporters::ActiveFingerprint& entry = active[failure->fingerprint];
  if (entry.evidence.empty()) entry.since = failure->since;
  entry.id = failure->fingerprint;
  entry.evidence.push_back("NCCL probe of " + config_.node + ": " + failure->text);
}

}  // namespace collwatch::agent
