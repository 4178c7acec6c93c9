// SPDX-License-Identifier: Apache-2.0
//
// Snapshot: everything an agent publishes, immutable once made. The exporters say here what they
// need; the daemon fills one after every step and swaps it as shared_ptr<const Snapshot>, so that
// HTTP threads only ever read. Plain data; includes only the vocabulary. Units are in the names.
#pragma once

#include <array>
#include <chrono>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "probes/model/vocabulary.h"

namespace collwatch::exporters {

using WallTime = std::chrono::system_clock::time_point;

/// Cumulative-free counts: buckets[i] counts observations in (bound[i-1], bound[i]]; the last slot
/// is +Inf. Bounds are 10 per metric and live in exporters/prometheus/metric_table.
struct HistogramData {
  std::array<std::uint64_t, 11> buckets{};
  double sum = 0;

  void observe(double value, const std::array<double, 10>& bounds) {
    std::size_t i = 0;
    while (i < bounds.size() && value > bounds[i]) ++i;
    ++buckets[i];
    sum += value;
  }
};

/// 10 us to 10 s, shared by edges and collectives.
inline constexpr std::array<double, 10> kLatencyBounds = {1e-5, 1e-4, 3e-4, 1e-3, 3e-3,
                                                          1e-2, 3e-2, 0.1,  1.0,  10.0};

struct Build {
  std::string version, gloo, torch, nccl, cuda;  ///< empty when unknown
};

struct Member {
  std::string name;
  model::MemberState state = model::MemberState::ok;
};

struct Witness {
  double loss = 0;     ///< share of the peer's recent datagrams that did not arrive
  bool heard = false;  ///< anything within the last two rounds
  bool available = true;  ///< false: no datagram ever arrived though the edge works (UDP filtered)
};

struct Edge {
  std::string peer;
  std::optional<model::Outcome> outcome;  ///< nothing before the first round
  std::optional<double> round_trip_seconds;
  Witness witness;
  double lateness_seconds = 0;  ///< of large payloads, against the other peers; 0: not felt
};

/// This node's own worker: without it the node sees nothing and nobody sees it.
struct Worker {
  std::string backend;
  model::WorkerState state = model::WorkerState::absent;
  std::string text;  ///< why it does not run; empty while it does
};

struct CollectiveResult {
  std::string backend;
  model::Collective collective = model::Collective::barrier;
  std::uint64_t size_bytes = 0;
  model::Outcome outcome = model::Outcome::ok;
  double seconds = 0;
  WallTime at;
};

struct ActiveFingerprint {
  model::Fingerprint id = model::Fingerprint::none;
  model::Source source = model::Source::probe;
  std::optional<int> rank;
  std::optional<std::string> job;
  WallTime since;
  std::vector<std::string> evidence;
};

struct Verdict {
  model::Kind kind = model::Kind::node;
  std::string entity;
  model::Reason reason = model::Reason::unreachable;
  model::Fingerprint fingerprint = model::Fingerprint::none;
  model::VerdictState state = model::VerdictState::suspect;
  model::Confidence confidence = model::Confidence::low;
  double score = 0;  ///< nats
  std::vector<std::string> observers;
  std::vector<std::string> ambiguous_with;
  model::View view = model::View::direct;
  WallTime since;
};

struct Event {
  WallTime time;
  std::string node;
  std::string type;   ///< verdict, fingerprint, member, worker, config
  std::string state;  ///< verdict: suspect|ticket|page|cleared; member: its state; worker: ...
  std::optional<Verdict> verdict;
  std::optional<ActiveFingerprint> fingerprint;
  std::optional<Member> member;
  std::string text;  ///< one sentence for people
};

/// Counters that only grow, and histograms. Owned by the daemon, copied into each Snapshot.
struct Counters {
  std::array<std::uint64_t, model::kCount<model::Outcome>> edge_rounds{};
  HistogramData edge_round_trip;
  std::map<std::pair<std::string, std::string>, std::uint64_t> witness_datagrams;  ///< direction, outcome
  struct CollectiveCounters {
    HistogramData duration;  ///< largest configured size only
    std::array<std::uint64_t, model::kCount<model::Outcome>> runs{};
    std::optional<WallTime> last_success;
  };
  std::map<std::pair<std::string, model::Collective>, CollectiveCounters> collectives;  ///< backend
  struct RendezvousCounters {
    HistogramData duration;
    std::array<std::uint64_t, model::kCount<model::Outcome>> runs{};
  };
  std::map<std::string, RendezvousCounters> rendezvous;  ///< by store
  std::map<std::pair<model::Fingerprint, model::Source>, std::uint64_t> fingerprint_events;
  std::map<model::Fingerprint, WallTime> fingerprint_last_seen;
  std::map<std::pair<std::string, model::SkipReason>, std::uint64_t> probe_skipped;   ///< probe
  std::map<std::pair<std::string, std::string>, std::uint64_t> worker_restarts;       ///< probe, reason
};

/// What this node's watcher (collwatch-watch) reads beside the probes.
struct WatchedSource {
  model::Source source = model::Source::log;
  bool works = false;
  std::string text;  ///< why it does not, or not fully; empty while it does
};

struct Watch {
  std::vector<WatchedSource> sources;   ///< those that the configuration wants
  std::uint64_t log_bytes = 0;          ///< read
  std::uint64_t log_skipped_bytes = 0;  ///< given up: they came faster than they may be read
  std::uint64_t log_lag_bytes = 0;      ///< there, but not read yet
  std::uint64_t log_files = 0;
  std::uint64_t log_waiting_files = 0;  ///< have something to read, and no place to be read in
};

/// A training job with ranks on this node, as its processes show it.
struct Job {
  std::string job;           ///< "slurm:4711"
  std::vector<int> ranks;    ///< that have a process here
  std::vector<int> missing;  ///< that belong here and have none
  int processes = 0;         ///< those of unknown rank too
  int world_size = 0;        ///< 0: not known
  std::string backend;       ///< gloo, nccl, unknown
  std::string torch, nccl;   ///< versions; empty when unknown
  bool stalled = false;      ///< all of them: docs/inspect.md
};

/// Calls that this node's libtorch answers alike.
struct C10dFinding {
  std::string text;                ///< its own words, or what the values were
  std::vector<std::string> calls;  ///< "all_reduce float32 AVG on cpu"
};

/// What this node's libtorch does with Gloo, measured; docs/c10d.md.
struct C10d {
  std::string state = "never";  ///< never, waiting, running, done, skipped
  std::string text;             ///< why it waits again or was skipped
  std::string torch;            ///< version; empty while unknown
  std::vector<C10dFinding> wrong_values, unsupported, crashes;
  std::vector<std::string> stores;  ///< sentences about those that do not work
};

struct Snapshot {
  std::string node;
  Build build;
  std::string cluster, rack, rail;

  std::uint64_t membership_epoch = 0;
  std::string membership_hash;
  std::vector<Member> members;  ///< all, this node included, sorted by name

  std::int64_t round_number = 0;
  double round_age_seconds = 0;
  double round_interval_seconds = 0;
  std::int64_t clean_rounds = 0;  ///< on end, in which no edge failed and nobody was suspected
  int local_health = 0;  ///< 0 (well) to 8
  double scheduling_delay_seconds = 0;
  double edges_unobserved_ratio = 0;
  double clock_skew_seconds = 0;  ///< this node's wall clock against the median of its peers

  std::vector<Worker> workers;
  Watch watch;
  std::vector<Job> jobs;
  C10d c10d;
  std::vector<Edge> edges;
  std::vector<CollectiveResult> collectives;
  std::vector<ActiveFingerprint> fingerprints;
  std::vector<Verdict> verdicts;  ///< worst first; at most limits.suspects
  std::vector<Event> recent_events;  ///< newest last, bounded

  Counters counters;
  int workers_unreaped = 0;
  std::uint64_t memory_limit_bytes = 0;
  bool is_short_of_memory = false;  ///< above the limit: posted logs are refused, events forgotten
  std::uint64_t events_dropped = 0;  ///< did not reach the event log: a full or dead disk
  bool config_reload_success = true;
  bool ready = false;
  std::string not_ready_because;  ///< one sentence while !ready
  WallTime made_at;
};

}  // namespace collwatch::exporters
