// SPDX-License-Identifier: Apache-2.0
//
// NCCL's status service as a source: one question every half a minute at most, where it can do no
// harm, through daemon/ras; what the report means is told as findings. Whom to ask and whether is
// decided anew each time by what the processes of this node show. A question takes seconds; between
// its steps the loop goes on. Once there, it stays, so that no question is broken off by a reload.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "daemon/processes/report.h"
#include "daemon/ras/client.h"
#include "daemon/ras/judge.h"
#include "daemon/ras/version_gate.h"
#include "daemon/watch/source.h"

namespace collwatch::watch {

class RasSource final : public Source {
 public:
  struct Options {
    /// The latest look at the processes; none while they are not watched.
    std::function<const processes::ProcessReport*()> processes;
    base::Millis interval{30000};
    base::Millis whole_report{20000};
  };

  RasSource(Options options, Sink sink) : options_(std::move(options)), sink_(std::move(sink)) {}

  void set_plan(const wire::WatchPlan& plan);

  base::Clock::duration look(base::TimePoint now) override;
  void add_to(wire::Heartbeat& heartbeat) const override;

 private:
  bool is_asking() const { return client_ && !client_->is_over(); }
  void ask(base::TimePoint now);
  void begin(base::TimePoint now);
  void on_answer(base::TimePoint now);
  void on_report(const ras::Report& report, base::TimePoint now);
  std::vector<ras::Candidate> candidates() const;
  ras::Candidate candidate_of(const processes::Job& job) const;
  bool holds_port(const processes::Process& process) const;
  /// The job that the report is of, as far as it can be told.
  const processes::Job* job_of(const ras::Report& report) const;
  void forget_gone_jobs();
  bool leave(const ras::Report& report, const std::string& job);
  void tell(const ras::Finding& finding, const std::string& job);

  const Options options_;
  Sink sink_;
  ras::Mode mode_ = ras::Mode::never;
  std::string host_;
  std::uint16_t port_ = 0;
  std::unique_ptr<ras::Client> client_;
  bool json_ = true;
  int tries_ = 0;
  base::TimePoint next_{};  ///< no question before
  std::vector<ras::Candidate> asked_;
  std::map<std::string, ras::Judge> judges_;  ///< by job
  std::set<std::string> left_;                ///< jobs that must not be asked again
  std::string why_not_;
};

}  // namespace collwatch::watch
