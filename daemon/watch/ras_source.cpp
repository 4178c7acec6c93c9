// SPDX-License-Identifier: Apache-2.0
//
// From processes to a decision, from a decision to a question, from a report to findings.
#include "daemon/watch/ras_source.h"

#include <algorithm>
#include <utility>

namespace collwatch::watch {
namespace {

constexpr base::Millis kBetweenSteps{50};
constexpr base::Millis kIdle{2000};
constexpr int kMostTries = 3;  ///< a connection may land on a stopped process; the next need not
constexpr std::size_t kMostLeft = 16;
const std::string kNotAsked = "not asked: ";
constexpr std::size_t kMostJudges = 16;

ras::Mode mode_of(const std::string& word) {
  if (word == "safe") return ras::Mode::safe;
  return word == "always" ? ras::Mode::always : ras::Mode::never;
}

bool contains(const std::vector<int>& ranks, int rank) {
  return std::find(ranks.begin(), ranks.end(), rank) != ranks.end();
}

bool is_careful(const ras::Candidate& one) {
  const auto version = ras::parse_version(one.version);
  return !version || ras::ability_of(*version) != ras::Ability::json;
}

/// The oldest of two, of which either may be unknown.
std::string older(const std::string& a, const std::string& b) {
  const auto first = ras::parse_version(a);
  const auto second = ras::parse_version(b);
  if (!first || !second) return first ? a : b;
  return *second < *first ? b : a;
}

}  // namespace

void RasSource::set_plan(const wire::WatchPlan& plan) {
  mode_ = mode_of(plan.ras_mode);
  host_ = plan.ras_host == "localhost" ? "127.0.0.1" : plan.ras_host;
  port_ = plan.ras_port;
  for (const std::string& job : plan.ras_left) {
    if (left_.size() < kMostLeft) left_.insert(job);
  }
}

base::Clock::duration RasSource::look(base::TimePoint now) {
  if (is_asking()) {
    if (!client_->advance(now)) return kBetweenSteps;
    on_answer(now);
    return is_asking() ? kBetweenSteps : kIdle;
  }
  if (mode_ == ras::Mode::never) {
    why_not_.clear();
    return kIdle;
  }
  ask(now);
  return is_asking() ? kBetweenSteps : kIdle;
}

void RasSource::ask(base::TimePoint now) {
  forget_gone_jobs();
  asked_ = candidates();
  const ras::Decision decision = ras::decide(mode_, asked_);
  if (!decision.ask) {
    why_not_ = kNotAsked + decision.why;
    return;
  }
  if (why_not_.rfind(kNotAsked, 0) == 0) why_not_.clear();
  if (now < next_) return;
  next_ = now + options_.interval;
  json_ = decision.json;
  tries_ = 0;
  begin(now);
}

void RasSource::begin(base::TimePoint now) {
  ras::Client::Options options;
  options.json = json_;
  options.whole_report = options_.whole_report;
  if (!ras::fill_address(host_, port_, options)) {
    why_not_ = kNotAsked + "watch.ras.address is not numeric";
    return;
  }
  ++tries_;
  client_ = std::make_unique<ras::Client>(options);
  client_->start(now);
  if (client_->is_over()) on_answer(now);
}

void RasSource::on_answer(base::TimePoint now) {
  const std::unique_ptr<ras::Client> client = std::move(client_);
  const ras::Answer answer = client->answer();
  if (answer == ras::Answer::report) return on_report(client->take_report(), now);
  if (answer == ras::Answer::silent && tries_ < kMostTries) return begin(now);
  why_not_ = "no answer from " + host_ + ":" + std::to_string(port_) + ": " + client->why();
  if (answer == ras::Answer::silent) {
    why_not_ += ", " + std::to_string(tries_) + " times; a process of the job may be stopped";
  }
}

void RasSource::on_report(const ras::Report& report, base::TimePoint now) {
  const processes::Job* const job = job_of(report);
  const std::string name = job == nullptr ? "" : job->job;
  why_not_ = report.complete ? "" : "its report is not used: " + report.trouble;
  const bool is_last = leave(report, name);
  if (!judges_.contains(name) && judges_.size() >= kMostJudges) judges_.clear();
  ras::Judge& judge = judges_[name];
  const int world = job == nullptr ? 0 : job->world_size;
  for (const ras::Finding& finding : judge.add(report, world, is_last, now)) tell(finding, name);
}

/// Whether the job of this report is not to be asked again.
bool RasSource::leave(const ras::Report& report, const std::string& job) {
  if (mode_ != ras::Mode::safe || !report.is_incomplete()) return false;
  bool any = false;
  for (const ras::Candidate& one : asked_) {
    if (!is_careful(one) || (!job.empty() && one.job != job)) continue;
    any = true;
    if (left_.size() < kMostLeft) left_.insert(one.job);
  }
  return any;
}

/// A job of the same name that comes later is another one.
void RasSource::forget_gone_jobs() {
  const processes::ProcessReport* const seen = options_.processes();
  if (seen == nullptr || left_.empty()) return;
  std::erase_if(left_, [&](const std::string& name) {
    return std::none_of(seen->jobs.begin(), seen->jobs.end(),
                        [&](const processes::Job& job) { return job.job == name; });
  });
}

void RasSource::tell(const ras::Finding& finding, const std::string& job) {
  wire::Finding out;
  out.fingerprint = finding.id;
  out.source = model::Source::ras;
  out.role = finding.initiating ? "initiating" : "collateral";
  out.rank = finding.rank;
  out.host = finding.host;
  out.job = job;
  out.text = finding.text;
  sink_(out);
}

std::vector<ras::Candidate> RasSource::candidates() const {
  const processes::ProcessReport* const seen = options_.processes();
  std::vector<ras::Candidate> all;
  if (seen == nullptr) return all;
  for (const processes::Job& job : seen->jobs) {
    ras::Candidate one = candidate_of(job);
    const bool has_nccl = !one.version.empty() || job.backend == processes::Backend::nccl;
    if (has_nccl) all.push_back(std::move(one));
  }
  return all;
}

ras::Candidate RasSource::candidate_of(const processes::Job& job) const {
  ras::Candidate one;
  one.job = job.job;
  one.ranks_known = !job.ranks.empty();
  one.has_first_rank = contains(job.ranks, 0) || contains(job.missing, 0);
  one.is_hurt = !job.missing.empty();
  one.is_left = left_.contains(job.job);
  for (const processes::Process& process : options_.processes()->processes) {
    if (process.identity.job != job.job) continue;
    for (const processes::Library& library : process.libraries) {
      if (library.name == "nccl") one.version = older(one.version, library.version);
    }
    one.own_network = one.own_network || process.own_network;
    one.listens = one.listens || holds_port(process);
    one.is_hurt = one.is_hurt || process.state == 'T' || process.state == 't';
  }
  return one;
}

bool RasSource::holds_port(const processes::Process& process) const {
  return process.own_network &&
         std::any_of(process.listeners.begin(), process.listeners.end(), [&](const auto& one) {
           const bool is_any = one.first == "0.0.0.0" || one.first == "::";
           return one.second == port_ && (is_any || one.first == host_);
         });
}

/// Of several jobs the one whose ranks have the pids that the report gives them.
const processes::Job* RasSource::job_of(const ras::Report& report) const {
  const processes::ProcessReport* const seen = options_.processes();
  if (seen == nullptr) return nullptr;
  std::set<std::pair<int, int>> reported;  // pid and rank
  for (const ras::Communicator& communicator : report.communicators) {
    for (const ras::Rank& rank : communicator.ranks) reported.emplace(rank.pid, rank.rank);
  }
  const auto find_job = [&](const std::string& name) {
    const auto found = std::find_if(seen->jobs.begin(), seen->jobs.end(),
                                    [&](const processes::Job& job) { return job.job == name; });
    return found == seen->jobs.end() ? nullptr : &*found;
  };
  for (const processes::Process& process : seen->processes) {
    const int pid = process.inner_pid > 0 ? process.inner_pid : process.pid;
    if (!process.identity.rank || !reported.contains({pid, *process.identity.rank})) continue;
    return find_job(process.identity.job);
  }
  return asked_.size() == 1 ? find_job(asked_.front().job) : nullptr;
}

void RasSource::add_to(wire::Heartbeat& heartbeat) const {
  heartbeat.ras = why_not_;
  heartbeat.ras_left.assign(left_.begin(), left_.end());
}

}  // namespace collwatch::watch
