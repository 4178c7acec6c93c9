// SPDX-License-Identifier: Apache-2.0
//
// Tier B at one agent: the persistent m-member Gloo context and the verified collectives that run
// on it every few rounds. A symptom probe: it says what a job would feel; edges and witnesses say
// who. The lowest eligible name hosts the meeting. Lives on the event loop's thread.
//
//   idle --due--> meeting --GroupFixed--> preparing --blob--> exchanging --GroupMet--> connecting
//    ^              '---- the context we hold, again ----.                                 |ok
//    |                                                   v                                 v
//    '<----failure (context destroyed; one retry in the next round)---- running <----------'
//                                                                         '--all steps ok--> held
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "daemon/agent/peer_link.h"
#include "daemon/peer/meeting.h"
#include "exporters/snapshot.h"

namespace collwatch::agent {

class GroupLink {
 public:
  struct Handlers {
    std::function<void(const exporters::CollectiveResult&)> ran;
    /// One rendezvous from nothing: how it ended and how long it took.
    std::function<void(model::Outcome, double seconds)> formed;
    std::function<void(model::SkipReason)> skipped;
    /// Somebody got wrong values: members by rank, and whose they were, see wire.
    std::function<void(const std::vector<std::string>&, const wire::GroupAccusations&)> accused;
  };

  GroupLink(PeerLinkSurroundings& surroundings, const std::string& incarnation, Handlers handlers);
  ~GroupLink();

  /// `eligible`: sorted names that can take part as this agent sees it, itself included.
  void on_round(std::int64_t round, const std::vector<std::string>& eligible,
                const std::string& view_hash);
  void on_request(const peer::Request& request, const peer::Address& local,
                  peer::Server::Responder respond);
  void on_prepared(const wire::GroupPrepared& message);
  void on_report(const wire::CollectiveReport& report);
  void on_accusations(const wire::GroupAccusations& words);
  void on_worker_lost();
  void close();

  /// How many runs in a row failed; attribution waits for two before it believes in a symptom.
  int failed_runs() const { return failed_runs_; }
  model::Outcome last_failure() const { return last_failure_; }

 private:
  /// After a large run failed the next few stay small, twice as many each time: a probe must not
  /// keep a path full on which jobs have trouble enough.
  static constexpr int kSpareFirst = 3;
  static constexpr int kSpareMost = 24;

  enum class State { idle, meeting, preparing, exchanging, connecting, running, held };

  void begin(const std::vector<std::string>& eligible, const std::string& view_hash);
  void deliver(peer::Answers answers);
  void on_answer(const decltype(peer::Reply::body)& body);
  void ask(decltype(peer::Request::body) body);
  void on_fixed(const peer::GroupFixed& fixed);
  void run();
  bool gentle() const;
  void fail(model::Outcome outcome);
  void arm(base::Millis delay);
  void arm_meeting();

  PeerLinkSurroundings& around_;
  Handlers handlers_;
  peer::ContextIds ids_;
  peer::GroupMeeting meeting_;
  std::map<peer::Ticket, peer::Server::Responder> waiting_;  ///< ticket 0 is this agent itself
  peer::Ticket next_ticket_ = 1;

  State state_ = State::idle;
  std::string host_;
  std::string context_id_;  ///< held, or being formed
  std::uint64_t attempt_ = 0;
  std::int64_t run_round_ = 0;
  std::vector<std::string> members_;  ///< by rank
  std::size_t steps_left_ = 0;
  std::uint32_t bytes_ = 0;  ///< of the run under way
  bool gentle_ = false;      ///< as the host of this meeting said
  int spared_runs_ = 0;      ///< runs still to stay small in, after a large one failed
  int spare_next_ = kSpareFirst;
  std::int64_t retry_round_ = 0;
  bool fresh_ = false;  ///< this context was formed in this run
  int failed_runs_ = 0;
  model::Outcome last_failure_ = model::Outcome::ok;
  base::TimePoint began_{};
  base::TimePoint formed_at_{};
  base::EventLoop::TimerId deadline_ = 0;
  base::EventLoop::TimerId meeting_timer_ = 0;
  std::unique_ptr<peer::Call> call_;
};

}  // namespace collwatch::agent
