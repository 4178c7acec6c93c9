// SPDX-License-Identifier: Apache-2.0
//
// The NCCL probe at one agent: when it runs (probes.nccl.mode), with whom (a meeting like the
// group's, with facts and unique ids as its blobs), and what came of it. Every member starts its
// worker in the same round, tries its own GPUs alone, and those that came through meet at a round
// that all can work out. A failure is believed when it came twice in a row. The lowest eligible
// name hosts the meeting, whether it takes part or not. Lives on the event loop's thread.
//
//   idle --due--> preparing --NcclPrepared--> local --done--> ready --its round--> meeting
//    ^                |skipped                  |failed                              | |fixed
//    |<---------------'<------------------------'<------------ nobody to meet -------' v
//    '<--gone-- ending <--all rungs done, or failed-- climbing <----GroupMet---- exchanging
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "daemon/agent/nccl_worker.h"
#include "daemon/agent/peer_link.h"
#include "daemon/peer/meeting.h"
#include "exporters/snapshot.h"
#include "probes/wire/nccl_message.h"

namespace collwatch::agent {

class NcclLink {
 public:
  /// What the agent knows of training processes here.
  struct Jobs {
    bool known = false;  ///< somebody has looked
    bool running = false;
    std::string library;  ///< libnccl of the present job, or of the last one
    std::int64_t pid = 0;
  };
  struct Handlers {
    std::function<Jobs()> jobs;
    std::function<void(const exporters::CollectiveResult&)> ran;
    std::function<void(model::SkipReason)> skipped;
    std::function<void(const std::string& state, const std::string& text)> note;
    std::function<void(model::Fingerprint)> found;  ///< a failure that is believed from now on
    std::function<void(int count)> unreaped;
  };
  struct Failure {
    model::Outcome outcome = model::Outcome::ok;
    model::Fingerprint fingerprint = model::Fingerprint::none;
    wire::Rung rung = wire::Rung::local;
    exporters::WallTime since;
    std::string text;
  };

  NcclLink(PeerLinkSurroundings& surroundings, const std::string& incarnation,
           std::string executable, Handlers handlers);
  ~NcclLink();

  /// `eligible`: sorted names that can take part as this agent sees it, itself included.
  void on_round(std::int64_t round, const std::vector<std::string>& eligible,
                const std::string& view_hash);

  /// Is that request about this probe's meetings?
  static bool is_about(const peer::Request& request);
  void on_request(const peer::Request& request, peer::Server::Responder respond);
  void stop();

  /// What failed in the last two runs; nothing while all is well or not sure.
  std::optional<Failure> believed() const;
  /// Members with other versions than the rest, as the last meeting showed.
  const std::vector<std::string>& odd_ones() const { return odd_; }
  /// Was that process one of its last few probes?
  bool was_probe(std::int64_t pid) const { return worker_.was(pid); }
  const std::string& nccl_version() const { return facts_.nccl; }
  const std::string& cuda_version() const { return facts_.cuda; }

 private:
  enum class State { idle, preparing, local, ready, meeting, exchanging, climbing, ending };
  static constexpr int kBelievedFailures = 2;

  NcclWorker::Handlers worker_handlers();
  bool is_due(std::int64_t round, std::size_t eligible) const;
  bool may_run(std::string& why_not, model::SkipReason& reason) const;
  void begin(std::int64_t round);
  void meet(const std::vector<std::string>& eligible);
  void ask(decltype(peer::Request::body) body);
  void deliver(peer::Answers answers);
  void on_answer(const decltype(peer::Reply::body)& body);
  void on_fixed(const peer::GroupFixed& fixed);
  void on_met(const peer::GroupMet& met);
  void climb();
  void run(wire::NcclRun request);

  void on_message(const wire::FromNccl& message);
  void on_prepared(const wire::NcclPrepared& prepared);
  void on_report(const wire::NcclReport& report);
  void on_done(const wire::NcclDone& done);
  void on_late();
  void on_gone(const std::string& how);

  void count(const wire::NcclReport& report);
  /// A note, unless it is what was noted last of its kind.
  void say(const std::string& state, const std::string& text, const std::string& about = "");
  void skip(model::SkipReason reason, const std::string& text);
  void fail(Failure failure);
  void forget_failure();
  void finish(bool met_others);
  std::int64_t rounds(base::Millis time) const;

  PeerLinkSurroundings& around_;
  Handlers handlers_;
  peer::ContextIds ids_;
  peer::GroupMeeting meeting_;
  NcclWorker worker_;
  std::map<peer::Ticket, peer::Server::Responder> waiting_;  ///< ticket 0 is this agent itself
  peer::Ticket next_ticket_ = 1;
  const base::TimePoint started_at_ = base::Clock::now();

  State state_ = State::idle;
  std::int64_t round_ = 0;
  std::int64_t meet_round_ = 0;
  std::string view_hash_;
  std::string host_;
  std::string context_id_;
  std::vector<std::string> members_;  ///< of the meeting, by rank
  std::size_t own_rank_ = 0;
  std::int64_t run_round_ = 0;
  wire::NcclFacts facts_;
  std::vector<wire::NcclRun> runs_;  ///< still to climb
  wire::Rung rung_ = wire::Rung::local;
  bool preflight_done_ = false;
  std::vector<std::string> odd_;
  std::map<std::string, std::string> said_;  ///< the last of each kind is not repeated

  std::optional<Failure> failure_;
  int failed_runs_ = 0;
  int not_met_ = 0;  ///< probes since then that ended without another member
  base::EventLoop::TimerId meeting_timer_ = 0;
  std::unique_ptr<peer::Call> call_;
};

}  // namespace collwatch::agent
