// SPDX-License-Identifier: Apache-2.0
//
// THE list of metrics: full name, type, help with its unit, label names, and how many label sets a
// page may carry of it. render.cpp fills exactly these, docs/metrics.md is checked against them,
// and the sum of the last column is the proof that no cluster size can make a page grow past the
// budget. Added to, never renamed. Metrics whose source is not built yet are not in it.
#pragma once

#include <array>
#include <cstddef>
#include <string_view>

namespace collwatch::exporters {

enum class MetricType { counter, gauge, histogram };

enum class MetricId {
  build_info,
  node_info,
  edge_round_trip_seconds,
  edge_rounds_total,
  witness_datagrams_total,
  collective_duration_seconds,
  collective_runs_total,
  collective_last_success_timestamp_seconds,
  rendezvous_duration_seconds,
  rendezvous_runs_total,
  fingerprint_active,
  fingerprint_events_total,
  fingerprint_last_seen_timestamp_seconds,
  suspect,
  suspect_link_info,
  straggler_lateness_seconds,
  members,
  local_health_score,
  scheduling_delay_seconds,
  edges_unobserved_ratio,
  clock_skew_seconds,
  round_age_seconds,
  probe_skipped_total,
  worker_restarts_total,
  worker_unreaped,
  log_bytes_total,
  log_skipped_bytes_total,
  log_lag_bytes,
  log_waiting_files,
  watch_up,
  training_processes,
  training_backend_info,
  memory_limit_bytes,
  memory_short,
  events_dropped_total,
  config_reload_success,
  process_cpu_seconds_total,
  process_resident_memory_bytes,
  process_open_fds,
  process_max_fds,
  process_threads,
  process_start_time_seconds
};

struct Metric {
  MetricId id;
  std::string_view name;
  MetricType type;
  std::array<std::string_view, 6> labels;  ///< empty ones at the end are unused
  std::size_t label_sets;                  ///< more than this many are cut off
  std::string_view help;

  constexpr std::size_t label_count() const {
    std::size_t count = 0;
    while (count < labels.size() && !labels[count].empty()) ++count;
    return count;
  }
  /// A histogram is 10 buckets, +Inf, sum and count.
  constexpr std::size_t max_series() const {
    return label_sets * (type == MetricType::histogram ? 13 : 1);
  }
};

/// At most this many verdicts become `collwatch_suspect` series, worst first.
inline constexpr std::size_t kMaxSuspects = 16;

/// The latest peers become series, as long as they are late at all.
inline constexpr std::size_t kMaxStragglers = 3;

// clang-format off
inline constexpr auto kMetrics = std::to_array<Metric>({
    {MetricId::build_info, "collwatch_build_info", MetricType::gauge,
     {"version", "gloo", "torch", "nccl", "cuda"}, 1,
     "Always 1; the labels say which versions this agent was built with or has found."},
    {MetricId::node_info, "collwatch_node_info", MetricType::gauge,
     {"node", "cluster", "rack", "rail"}, 1,
     "Always 1; the labels say which node this agent watches and where that node stands."},
    {MetricId::edge_round_trip_seconds, "collwatch_edge_round_trip_seconds", MetricType::histogram,
     {"partition"}, 3,
     "Seconds a successful token exchange with one peer took, all peers of a partition together."},
    {MetricId::edge_rounds_total, "collwatch_edge_rounds_total", MetricType::counter,
     {"outcome"}, 14,
     "Edge rounds (one peer, one round), by how they ended."},
    {MetricId::witness_datagrams_total, "collwatch_witness_datagrams_total", MetricType::counter,
     {"direction", "outcome"}, 12,
     "UDP witness datagrams sent and received, by what became of them."},
    {MetricId::collective_duration_seconds, "collwatch_collective_duration_seconds",
     MetricType::histogram, {"backend", "collective"}, 10,
     "Seconds a successful group collective of the largest configured size took."},
    {MetricId::collective_runs_total, "collwatch_collective_runs_total", MetricType::counter,
     {"backend", "collective", "outcome"}, 140,
     "Group collectives run, by how they ended."},
    {MetricId::collective_last_success_timestamp_seconds,
     "collwatch_collective_last_success_timestamp_seconds", MetricType::gauge,
     {"backend", "collective"}, 10,
     "Unix time in seconds of the last group collective that succeeded and verified."},
    {MetricId::rendezvous_duration_seconds, "collwatch_rendezvous_duration_seconds",
     MetricType::histogram, {"store"}, 3,
     "Seconds a full initialisation from nothing through one store took."},
    {MetricId::rendezvous_runs_total, "collwatch_rendezvous_runs_total", MetricType::counter,
     {"store", "outcome"}, 42,
     "Full initialisations through one store, by how they ended."},
    {MetricId::fingerprint_active, "collwatch_fingerprint_active", MetricType::gauge,
     {"fingerprint"}, 32,
     "1 while this failure class is seen by this agent, else 0; every class is always there."},
    {MetricId::fingerprint_events_total, "collwatch_fingerprint_events_total", MetricType::counter,
     {"fingerprint", "source"}, 72,
     "Times this failure class began to be seen, by where it was seen."},
    {MetricId::fingerprint_last_seen_timestamp_seconds,
     "collwatch_fingerprint_last_seen_timestamp_seconds", MetricType::gauge, {"fingerprint"}, 32,
     "Unix time in seconds when this failure class was last seen; absent if it never was."},
    {MetricId::suspect, "collwatch_suspect", MetricType::gauge,
     {"kind", "entity", "reason", "fingerprint", "state", "view"}, kMaxSuspects,
     "1 while this agent suspects the entity; absent otherwise."},
    {MetricId::suspect_link_info, "collwatch_suspect_link_info", MetricType::gauge,
     {"entity", "link"}, kMaxSuspects,
     "Always 1; names the link (both names sorted) that a suspected directed link belongs to."},
    {MetricId::straggler_lateness_seconds, "collwatch_straggler_lateness_seconds",
     MetricType::gauge, {"peer"}, kMaxStragglers,
     "Seconds by which this peer's large payloads are later than those of the other peers."},
    {MetricId::members, "collwatch_members", MetricType::gauge, {"state"}, 6,
     "Configured members, this node included, by the state in which this agent sees them."},
    {MetricId::local_health_score, "collwatch_local_health_score", MetricType::gauge, {}, 1,
     "How far this agent doubts itself, from 0 (well) to 8 (mute)."},
    {MetricId::scheduling_delay_seconds, "collwatch_scheduling_delay_seconds", MetricType::gauge,
     {}, 1, "Seconds by which the worst timer of the last round came late on this host."},
    {MetricId::edges_unobserved_ratio, "collwatch_edges_unobserved_ratio", MetricType::gauge, {}, 1,
     "Share of this node's edges, 0 to 1, that have no outcome in the current window."},
    {MetricId::clock_skew_seconds, "collwatch_clock_skew_seconds", MetricType::gauge, {}, 1,
     "Seconds by which this node's wall clock is ahead of the median of its peers."},
    {MetricId::round_age_seconds, "collwatch_round_age_seconds", MetricType::gauge, {}, 1,
     "Seconds since this agent last finished a round; grows while its event loop is stuck."},
    {MetricId::probe_skipped_total, "collwatch_probe_skipped_total", MetricType::counter,
     {"probe", "reason"}, 30, "Probe runs that were left out, by why."},
    {MetricId::worker_restarts_total, "collwatch_worker_restarts_total", MetricType::counter,
     {"probe", "reason"}, 16, "Probe workers that were started again, by why the last one ended."},
    {MetricId::worker_unreaped, "collwatch_worker_unreaped", MetricType::gauge, {}, 1,
     "Probe workers that survived SIGKILL, stuck in the kernel or a driver."},
    {MetricId::log_bytes_total, "collwatch_log_bytes_total", MetricType::counter, {}, 1,
     "Bytes of watched logs that were read."},
    {MetricId::log_skipped_bytes_total, "collwatch_log_skipped_bytes_total", MetricType::counter,
     {}, 1, "Bytes of watched logs that were passed over: written faster than they may be read."},
    {MetricId::log_lag_bytes, "collwatch_log_lag_bytes", MetricType::gauge, {}, 1,
     "Bytes of watched logs that wait to be read."},
    {MetricId::log_waiting_files, "collwatch_log_waiting_files", MetricType::gauge, {}, 1,
     "Watched logs that have grown and wait for their turn, since too many others are busy."},
    {MetricId::watch_up, "collwatch_watch_up", MetricType::gauge, {"source"}, 4,
     "1 while a source that is to be watched is, 0 while it cannot be."},
    {MetricId::training_processes, "collwatch_training_processes", MetricType::gauge, {}, 1,
     "Training processes (ranks) on this node."},
    {MetricId::training_backend_info, "collwatch_training_backend_info", MetricType::gauge,
     {"backend", "torch", "nccl", "stalled"}, 8,
     "How many training processes on this node run with these."},
    {MetricId::memory_limit_bytes, "collwatch_memory_limit_bytes", MetricType::gauge, {}, 1,
     "Bytes that this agent may hold in memory, as configured."},
    {MetricId::memory_short, "collwatch_memory_short", MetricType::gauge, {}, 1,
     "1 while this agent holds more than that and sheds what it can do without, else 0."},
    {MetricId::events_dropped_total, "collwatch_events_dropped_total", MetricType::counter, {}, 1,
     "Events that did not reach the event log."},
    {MetricId::config_reload_success, "collwatch_config_reload_success", MetricType::gauge, {}, 1,
     "1 if the last load of the configuration was accepted, 0 if the old one was kept."},
    {MetricId::process_cpu_seconds_total, "process_cpu_seconds_total", MetricType::counter, {}, 1,
     "Seconds of user and system time this agent has used; its workers are not in it."},
    {MetricId::process_resident_memory_bytes, "process_resident_memory_bytes", MetricType::gauge,
     {}, 1, "Bytes of memory this agent holds resident; its workers are not in it."},
    {MetricId::process_open_fds, "process_open_fds", MetricType::gauge, {}, 1,
     "File descriptors this agent has open."},
    {MetricId::process_max_fds, "process_max_fds", MetricType::gauge, {}, 1,
     "File descriptors this agent may have open."},
    {MetricId::process_threads, "process_threads", MetricType::gauge, {}, 1,
     "Threads of this agent."},
    {MetricId::process_start_time_seconds, "process_start_time_seconds", MetricType::gauge, {}, 1,
     "Unix time in seconds when this agent was started."},
});
// clang-format on

constexpr const Metric& metric(MetricId id) {
  return kMetrics[static_cast<std::size_t>(id)];
}

constexpr std::size_t series_budget() {
  std::size_t sum = 0;
  for (const Metric& m : kMetrics) sum += m.max_series();
  return sum;
}

constexpr bool rows_follow_their_ids() {
  for (std::size_t i = 0; i < kMetrics.size(); ++i) {
    if (static_cast<std::size_t>(kMetrics[i].id) != i) return false;
  }
  return kMetrics.size() == static_cast<std::size_t>(MetricId::process_start_time_seconds) + 1;
}

static_assert(rows_follow_their_ids(), "a row is missing or out of place");
static_assert(series_budget() <= 700, "a page must stay below 700 series at any cluster size");

}  // namespace collwatch::exporters
