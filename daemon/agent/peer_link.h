// SPDX-License-Identifier: Apache-2.0
//
// The agent's side of one edge: meets the peer, hands the Gloo addresses to the worker, keeps the
// edge's history, asks why it failed. One per configured peer, on the event loop's thread.
//
//            attempt() / MeetPair came              blobs exchanged            connect ok
//   closed ------------------------> preparing ------------------> connecting ---------> open
//     ^   <-----------------------------failure, deadline, worker gone, left--------------'
//
// The higher name attempts (it calls the lower name's peer port); the lower name answers.
// "preparing" waits for our worker's Gloo address, and on the higher side then for the peer's
// answer.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "daemon/agent/edge_history.h"
#include "daemon/agent/large_trips.h"
#include "daemon/base/event_loop.h"
#include "daemon/config/config.h"
#include "daemon/peer/client.h"
#include "daemon/peer/server.h"
#include "daemon/schedule/schedule.h"
#include "probes/wire/message.h"

namespace collwatch::agent {

/// What a PeerLink needs from the agent that owns it.
struct PeerLinkSurroundings {
  PeerLinkSurroundings(base::EventLoop& event_loop, const config::Config& configuration)
      : loop(event_loop), config(configuration), self(configuration.node) {}

  base::EventLoop& loop;
  const config::Config& config;  ///< the agent's, as reloaded
  std::string self;
  std::function<bool(const wire::ToWorker&)> to_worker;
  std::function<bool()> worker_running;
  std::function<std::string()> build;  ///< our worker's Gloo build
  std::function<peer::Identity()> identity;
  std::function<peer::Request(const std::string& peer)> request_to;  ///< ours, without its body
  std::function<std::uint64_t()> next_number;  ///< attempts and context ids: never reused
  std::function<std::optional<peer::Address>(const std::string& peer)> address;
  std::function<std::int64_t()> round;
  std::function<schedule::Pair(const std::string& peer)> pair;  ///< us and the peer, by index
  std::function<bool()> any_path_weak;  ///< a path of the group fails, loses or is late
  std::function<double()> stretch;      ///< local health: deadlines are longer on a sick host
  /// The peer answered over TCP: its identity, and how long that took where it was measured.
  std::function<void(const peer::Identity&, std::optional<base::Millis> round_trip)> met;
  /// Something changed that attribution should see; `first_failure`: tell the peers at once.
  std::function<void(bool first_failure)> changed;
  std::function<void(const std::string& peer)> failed;  ///< one more exchange with it
  /// One edge outcome for the counters.
  std::function<void(model::Outcome, std::optional<double> round_trip_seconds)> count;
  /// A configuration mismatch between us and this peer (build, address).
  std::function<void(const std::string& peer, model::Reason, const std::string& text)> misconfig;
};

class PeerLink {
 public:
  enum class State { closed, preparing, connecting, open };

  PeerLink(PeerLinkSurroundings& surroundings, std::string peer);
  ~PeerLink();

  const std::string& peer() const { return peer_; }
  bool starts() const { return starts_; }  ///< we are the lower name (rank 0)
  State state() const { return state_; }
  bool open() const { return state_ == State::open; }
  int open_rounds() const { return open_rounds_; }  ///< ok rounds since the edge opened
  EdgeHistory& history() { return history_; }
  const EdgeHistory& history() const { return history_; }

  const LargeTrips& large_trips() const { return large_trips_; }

  /// Round tick: counts a round without an edge as failed, attempts again when due.
  void on_round(std::int64_t round, base::TimePoint now);

  // From the worker.
  void on_prepared(const wire::EdgePrepared& message);
  void on_report(const wire::EdgeReport& report);
  /// Our own worker is gone: the edge is closed through no fault of the peer.
  void on_worker_lost();

  // From the peer port.
  void on_meet(const peer::Request& request, const peer::Address& local,
               peer::Server::Responder respond);
  /// The peer is (again) there with this incarnation: an edge to an older one is over.
  void on_incarnation(const std::string& incarnation);
  void on_left();
  bool left() const { return left_; }

  /// Since when this peer is a member here: join_grace counts from then.
  base::TimePoint added_at() const { return added_at_; }
  const std::string& incarnation() const { return incarnation_; }
  /// Known to have existed: met, heard of, or an edge was ok once.
  bool joined() const { return joined_; }
  void set_joined() { joined_ = true; }

  /// Whether "refused" means a dead agent or a firewall is for the witness to say, a little later.
  void settle_reason(base::TimePoint now);

  /// Says "I am here" and learns who is there; used until the first contact.
  void greet();
  /// Why no edge can be had with a peer of this build and round length; none: it can.
  std::optional<peer::Refusal> why_unusable(const peer::Identity& other) const;
  std::uint32_t failed_payload() const { return failed_payload_; }

 private:
  base::Millis stretched(base::Millis duration) const;  ///< a sick host waits longer
  void attempt();
  void prepare(const peer::Address& local);
  void send_meet(const peer::Address& local, peer::Blob blob);
  void on_met(peer::CallResult result, base::TimePoint asked);
  void on_absent_edge(std::int64_t round, bool met, base::TimePoint last_round_began,
                      base::TimePoint now, bool due);
  /// True if the peer answered that it does not take us (lists, builds or rounds differ), or if
  /// somebody else answered at its address.
  bool turned_away(const peer::CallResult& result);
  void fail(model::Outcome outcome, std::string text, base::TimePoint began);
  void close();
  void dial_for_reason();
  void take_reason(const peer::CallResult& result, bool heard);

  PeerLinkSurroundings& around_;
  const std::string peer_;
  const bool starts_;
  const base::TimePoint added_at_ = base::Clock::now();
  State state_ = State::closed;
  EdgeHistory history_;
  LargeTrips large_trips_;
  std::uint64_t attempt_ = 0;
  std::string incarnation_;
  bool joined_ = false;
  bool left_ = false;
  bool kept_apart_ = false;  ///< lists, builds or rounds differ: no edge, and no fault of anybody
  bool asked_why_ = false;   ///< a dial has asked why no edge comes about
  bool refusal_unsettled_ = false;
  bool met_this_round_ = false;
  base::TimePoint settled_at_{};  ///< before this, failing to open an edge is no evidence
  base::TimePoint closed_since_{};
  base::TimePoint round_began_{};
  std::uint32_t failed_payload_ = 0;
  int open_rounds_ = 0;
  std::string context_id_;

  peer::Blob peer_blob_;             ///< lower side: the other's Gloo address
  peer::Server::Responder respond_;  ///< lower side: whom to answer with our address
  peer::Address local_;
  base::EventLoop::TimerId deadline_ = 0;
  std::unique_ptr<peer::Call> call_;  ///< higher side: the meeting
  std::unique_ptr<peer::Call> dial_;  ///< why did it fail / greeting
};

}  // namespace collwatch::agent
