// SPDX-License-Identifier: Apache-2.0
//
// Values of daemon/processes into packets.
#include "daemon/watch/process_source.h"

#include <algorithm>
#include <utility>

namespace collwatch::watch {
namespace {

/// After the end of a rank what is left of its job is looked at so soon.
constexpr base::Millis kAfterAnExit{1000};
/// A job that has just begun is looked at so often: it is about to connect.
constexpr base::Millis kYoung{5000};
constexpr double kYoungSeconds = 60;
// So that a packet holds them all.
constexpr std::size_t kMostJobs = 16;
constexpr std::size_t kMostRanks = 128;

/// The libnccl of the first process of that job that has one, by the path that it sees.
void add_libnccl(wire::WatchedJob& out, const std::vector<processes::Process>& all) {
  for (const processes::Process& process : all) {
    if (process.identity.job != out.job) continue;
    for (const processes::Library& library : process.libraries) {
      if (library.name != "nccl" || library.path.find(" (deleted)") != std::string::npos) continue;
      out.nccl_library = library.path;
      out.nccl_pid = process.pid;
      return;
    }
  }
}

wire::WatchedJob as_packet(const processes::Job& job) {
  wire::WatchedJob out;
  out.job = job.job;
  out.ranks = job.ranks;
  out.missing = job.missing;
  for (std::vector<int>* list : {&out.ranks, &out.missing}) {
    if (list->size() > kMostRanks) list->resize(kMostRanks);
  }
  out.processes = job.processes;
  out.world_size = job.world_size;
  out.backend = std::string(model::name(job.backend));
  out.torch = job.torch;
  out.nccl = job.nccl;
  out.cuda = job.cuda;
  out.stalled = job.stalled;
  return out;
}

}  // namespace

ProcessSource::ProcessSource(processes::Surroundings here, base::Millis interval, Sink sink)
    : here_(std::move(here)), interval_(interval), sink_(std::move(sink)), exits_(here_.proc) {}

base::Clock::duration ProcessSource::look(base::TimePoint now) {
  const auto ended = exits_.take();
  for (const processes::Finding& finding : story_.add(ended, now)) tell(finding);
  if (!ended.empty()) due_ = std::min(due_, now + kAfterAnExit);
  if (now >= due_) scan(now);
  return due_ - now;
}

void ProcessSource::scan(base::TimePoint now) {
  auto report = processes::scan(here_, previous_ ? &*previous_ : nullptr, now);
  // Without a training library it may be any program that was handed a rank's variables.
  std::vector<processes::Process> trainers;
  for (const processes::Process& process : report.processes) {
    if (!process.libraries.empty()) trainers.push_back(process);
  }
  exits_.follow(trainers);
  wire::WatchedJobs jobs;
  for (const processes::Job& job : report.jobs) {
    if (jobs.jobs.size() >= kMostJobs) break;
    jobs.jobs.push_back(as_packet(job));
    add_libnccl(jobs.jobs.back(), report.processes);
  }
  jobs.driver = report.driver;
  sink_(jobs);
  for (const processes::Finding& finding : report.findings) {
    if (finding.confidence != model::Confidence::low) tell(finding);
  }
  const bool young = std::any_of(
      report.processes.begin(), report.processes.end(),
      [](const processes::Process& process) { return process.age_seconds < kYoungSeconds; });
  due_ = now + (young ? std::min(interval_, kYoung) : interval_);
  previous_ = std::move(report);
}

void ProcessSource::tell(const processes::Finding& finding) {
  wire::Finding out;
  out.fingerprint = finding.id;
  out.source = model::Source::process;
  out.role = finding.rank ? "initiating" : "context";
  out.rank = finding.rank.value_or(-1);
  out.job = finding.job;
  out.text = finding.text;
  if (!finding.evidence.empty()) out.text += " (" + finding.evidence.front() + ")";
  sink_(out);
}

std::vector<int> ProcessSource::descriptors() const {
  if (exits_.descriptor() < 0) return {};
  return {exits_.descriptor()};
}

void ProcessSource::add_to(wire::Heartbeat& heartbeat) const {
  if (!previous_) return;
  std::string trouble;
  if (previous_->unreadable > 0) {
    trouble = std::to_string(previous_->unreadable) +
              " processes of other users cannot be read; ranks may be among them";
  } else if (previous_->cut_short) {
    trouble = "there are more processes than can be looked at in time";
  }
  if (!trouble.empty()) heartbeat.troubles.push_back({model::Source::process, trouble});
}

}  // namespace collwatch::watch
