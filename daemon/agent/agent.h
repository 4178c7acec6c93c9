// SPDX-License-Identifier: Apache-2.0
//
// The agent: owns the peer port, the Gloo worker, one PeerLink per member, the evidence and the
// verdicts, and turns the crank once a round:
//
//   round tick -> worker Round, witness datagrams, reconnects          (agent.cpp)
//   reports, datagrams, meetings -> edge histories, evidence board     (agent_peers.cpp)
//   evidence -> explain -> Tracker -> verdicts, events, Snapshot       (agent_verdicts.cpp)
//   findings in logs and of the kernel -> fingerprints, events         (agent_watch.cpp)
//   what libtorch can do here -> status                                 (agent_c10d.cpp)
//   the folder that all are to share -> claims                          (agent_store.cpp)
//   the NCCL probe's results           -> counters, fingerprints       (agent_nccl.cpp)
//
// Everything runs on the event loop's thread; snapshot(), seconds_since_turn() and
// is_short_of_memory() may be called from any thread.
#pragma once

#include <atomic>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "daemon/agent/accusations.h"
#include "daemon/agent/c10d_link.h"
#include "daemon/agent/cookies.h"
#include "daemon/agent/evidence_board.h"
#include "daemon/agent/group_link.h"
#include "daemon/agent/ledger.h"
#include "daemon/agent/memory.h"
#include "daemon/agent/nccl_link.h"
#include "daemon/agent/node_versions.h"
#include "daemon/agent/peer_link.h"
#include "daemon/agent/resolver.h"
#include "daemon/agent/sightings.h"
#include "daemon/agent/store_link.h"
#include "daemon/agent/watch_link.h"
#include "daemon/agent/witness_loss.h"
#include "daemon/agent/worker_link.h"
#include "daemon/attribute/explain.h"
#include "daemon/attribute/local_health.h"
#include "daemon/config/config.h"
#include "daemon/peer/round_clock.h"
#include "daemon/peer/server.h"
#include "daemon/peer/witness.h"
#include "daemon/state/link_patience.h"
#include "daemon/state/tracker.h"
#include "exporters/snapshot.h"

namespace collwatch::agent {

class Agent {
 public:
  struct Options {
    std::string worker_executable;
    std::string watch_executable;
    std::string c10d_executable;
    std::string store_executable;
    std::string nccl_executable;
    /// Called once a round, with whether /readyz says yes: the watchdog is fed from here.
    std::function<void(bool ready)> turned;
  };

  /// Binds the peer port and starts the worker; an Error is a sentence for the operator.
  static model::Result<std::unique_ptr<Agent>> create(base::EventLoop& loop, config::Config config,
                                                      Options options);
  ~Agent();

  std::shared_ptr<const exporters::Snapshot> snapshot() const;
  double seconds_since_turn() const;
  bool is_short_of_memory() const { return is_short_of_memory_; }

  /// A new configuration: members come and go, deadlines change; ports and names need a restart.
  void reload(config::Config config);
  void reload_failed(const std::string& why);
  /// Says `left` to everybody, ends the worker, then calls `done` (at most 500 ms later).
  void leave(const std::string& reason, std::function<void()> done);

 private:
  Agent(base::EventLoop& loop, config::Config config, Options options);
  model::Result<void> start();
  void make_group_link();
  void set_members();

  // agent.cpp
  void schedule_tick();
  void tick();
  void half_tick();
  void send_round(std::int64_t round);
  void on_worker_message(const wire::FromWorker& message);
  void on_worker_up();
  void on_worker_down(model::Reason reason, const std::string& why);
  void check_member_file();
  void count_probes();
  void count_clean();
  void warn(base::TimePoint now);

  // agent_memory.cpp
  void watch_memory();

  // agent_watch.cpp
  void make_watch_link();
  void on_finding(const wire::Finding& finding);
  void on_jobs(const wire::WatchedJobs& jobs);

  // agent_c10d.cpp
  void make_c10d_link();

  // agent_store.cpp
  void make_store_link();

  // agent_nccl.cpp
  void make_nccl_link();
  NcclLink::Jobs jobs_for_nccl() const;
  void add_nccl_failure(std::map<model::Fingerprint, exporters::ActiveFingerprint>& active);

  // agent_peers.cpp
  peer::Identity identity() const;
  /// A request to that peer, with what proves it to be ours; its body is the caller's.
  peer::Request request_to(const std::string& peer) const;
  bool is_who_it_says(const peer::Request& request, const peer::Address& remote) const;
  void refuse_impostor(const std::string& name, const peer::Address& remote,
                       const peer::Server::Responder& respond);
  void on_request(const peer::Request& request, const peer::Address& local,
                  const peer::Address& remote, peer::Server::Responder respond);
  void on_witness(const peer::WitnessMessage& message, const std::string& from_host, bool udp);
  /// False: another live agent of that name is known, this one is not taken.
  bool on_identity(const peer::Identity& identity, const std::string& remote_host,
                   std::optional<base::Millis> round_trip);
  void note_address(const std::string& name, const std::string& host);
  void on_peer_left(const std::string& name);
  void send_witnesses(bool left);
  peer::WitnessMessage witness_message() const;
  bool same_view(const std::string& name) const;
  bool witness_missing(const PeerLink& link) const;

  // agent_verdicts.cpp, agent_claims.cpp, agent_publish.cpp
  void evaluate_soon();
  void evaluate();
  attribute::ObserverReport own_report(base::TimePoint now) const;
  double late_seconds(const PeerLink& link) const;
  bool any_path_weak() const;
  std::vector<state::Claim> claims(base::TimePoint now) const;
  void update_health(base::TimePoint now);
  void publish();
  void show_edges(exporters::Snapshot& shown, base::TimePoint now) const;
  void note_fingerprints(const std::vector<exporters::ActiveFingerprint>& active);
  void note_member(const exporters::Member& member);
  std::vector<exporters::ActiveFingerprint> active_fingerprints();
  void record_transition(exporters::Event event);
  model::MemberState member_state(const std::string& name) const;
  /// Members whose build or round length is not the commonest one.
  std::vector<state::Claim> odd_ones() const;
  // agent_versions.cpp
  static constexpr const char* kGlooBuild = "Gloo";
  Versions own_versions() const;
  void share_versions();
  std::vector<OddVersion> all_odd_versions() const;
  /// In which versions that member differs; empty where it does not.
  std::string why_odd(const std::string& member) const;

  std::optional<double> wall_skew_seconds(const std::string& name) const;

  /// Group runs that fail once are collateral of what the edges name within the same seconds; a
  /// retry and the next due run failing too is a symptom of its own.
  static constexpr int kBelievedGroupFailures = 3;

  struct PeerFacts {
    std::optional<std::int64_t> wall_offset_ms;
    std::optional<std::uint32_t> view;  ///< the first bits of its view hash
    std::string advertised;             ///< where its own list has it; empty: by name
    std::string build;                  ///< of its Gloo worker
    std::int64_t interval_ms = 0;       ///< of its rounds
    Versions versions;                  ///< as it told them
    Versions told_versions;             ///< of ours, that it has
    std::unique_ptr<peer::Call> versions_call;
    std::optional<base::TimePoint> heard_udp;
    std::optional<base::TimePoint> stranger_at;  ///< somebody else first spoke in its name
    std::string host;                            ///< where its datagrams and calls come from
    std::int64_t last_round_ms = 0;              ///< as it told us, for the echo
    base::TimePoint last_round_at{};
    WitnessLoss loss;
    std::unique_ptr<peer::Call> call;  ///< evidence over TCP, or `left`
  };
  struct Misconfig {
    model::Reason reason = model::Reason::config_mismatch;
    std::string text;
    base::TimePoint last_seen{};
  };

  base::EventLoop& loop_;
  config::Config config_;
  Options options_;
  const std::string incarnation_;
  std::string view_hash_;
  std::uint64_t epoch_ = 1;
  std::uint64_t numbers_ = 0;
  base::TimePoint started_at_;

  Ledger ledger_;
  Resolver resolver_;
  peer::RoundClock clock_;
  EvidenceBoard board_;
  attribute::LocalHealth health_;
  state::Tracker tracker_;
  state::LinkPatience link_patience_;
  std::vector<exporters::Verdict> verdicts_;
  PeerLinkSurroundings around_;
  std::unique_ptr<WorkerLink> worker_;
  std::unique_ptr<WatchLink> watch_;
  std::unique_ptr<C10dLink> c10d_;
  std::unique_ptr<StoreLink> store_;  ///< none: there is no such folder
  std::string store_text_;
  Sightings sightings_;
  std::vector<exporters::Job> jobs_;
  wire::WatchedJobs watched_jobs_;
  std::unique_ptr<peer::Server> server_;
  std::unique_ptr<peer::WitnessSocket> witness_;
  std::map<std::string, std::unique_ptr<PeerLink>> links_;
  std::map<std::string, PeerFacts> facts_;
  Cookies cookies_;
  std::map<std::pair<std::string, model::Reason>, Misconfig> misconfigs_;
  std::unique_ptr<GroupLink> group_;
  Accusations accusations_{std::chrono::seconds(60)};
  std::unique_ptr<NcclLink> nccl_;
  std::string job_libnccl_;  ///< of the present job, or of the last one
  std::int64_t job_libnccl_pid_ = 0;
  bool jobs_told_ = false;  ///< by the watcher that runs now

  std::int64_t round_ = 0;
  std::int64_t clean_rounds_ = 0;
  base::TimePoint round_began_{};
  base::EventLoop::TimerId tick_timer_ = 0;
  base::EventLoop::TimerId half_timer_ = 0;
  base::EventLoop::TimerId evaluate_timer_ = 0;
  base::EventLoop::TimerId memory_timer_ = 0;
  MemoryGuard memory_;
  std::atomic<bool> is_short_of_memory_{false};
  base::Clock::duration worst_lateness_{};
  base::Clock::duration shown_lateness_{};
  std::optional<base::TimePoint> late_at_;  ///< when timers here last ran late
  bool rounds_done_ = false;
  bool leaving_ = false;
  bool reload_ok_ = true;
  std::int64_t member_file_stamp_ = 0;
  std::set<std::pair<model::Fingerprint, model::Source>> shown_fingerprints_;
  std::uint64_t warned_bad_tokens_ = 0;
  base::TimePoint warned_at_{};
  std::set<std::string> warned_names_;
  std::int64_t first_round_ = 0;
  std::map<std::string, model::MemberState> shown_states_;
  int unreaped_ = 0;
  int watchers_unreaped_ = 0;
  int stores_unreaped_ = 0;
  int nccl_unreaped_ = 0;

  mutable std::mutex snapshot_mutex_;
  std::shared_ptr<const exporters::Snapshot> snapshot_;
  std::atomic<std::int64_t> turned_at_ns_{0};
};

}  // namespace collwatch::agent
