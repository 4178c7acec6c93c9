// SPDX-License-Identifier: Apache-2.0
//
// One function per group of metrics, in the order of metric_table.h. Closed sets are written in
// full, zeros included, so that rates and alerts never wait for a first event.
#include "exporters/prometheus/render.h"

#include <algorithm>
#include <array>
#include <map>
#include <set>
#include <string_view>

#include "exporters/prometheus/exposition.h"
#include "exporters/prometheus/fingerprint_sources.h"
#include "exporters/prometheus/metric_table.h"
#include "probes/model/vocabulary.h"

namespace collwatch::exporters {
namespace {

using model::name;

double unix_seconds(WallTime time) {
  return std::chrono::duration<double>(
             std::chrono::duration_cast<std::chrono::milliseconds>(time.time_since_epoch()))
      .count();
}

template <typename E, typename F>
void for_each(F&& f) {
  for (std::size_t i = 0; i < model::kCount<E>; ++i) f(static_cast<E>(i), i);
}

void add_identity(Exposition& page, const Snapshot& s) {
  const Build& b = s.build;
  page.add(MetricId::build_info, {b.version, b.gloo, b.torch, b.nccl, b.cuda}, 1);
  page.add(MetricId::node_info, {s.node, s.cluster, s.rack, s.rail}, 1);
}

void add_edges(Exposition& page, const Counters& counters) {
  // Up to 8 members every peer meets every other: one partition, the clique.
  page.add(MetricId::edge_round_trip_seconds, {"clique"}, counters.edge_round_trip, kLatencyBounds);
  for_each<model::Outcome>([&](model::Outcome outcome, std::size_t i) {
    page.add(MetricId::edge_rounds_total, {name(outcome)},
             static_cast<double>(counters.edge_rounds[i]));
  });
  for (const auto& [key, count] : counters.witness_datagrams) {
    page.add(MetricId::witness_datagrams_total, {key.first, key.second},
             static_cast<double>(count));
  }
}

void add_collectives(Exposition& page, const Counters& counters) {
  for (const auto& [key, data] : counters.collectives) {
    const std::string_view backend = key.first;
    const std::string_view collective = name(key.second);
    const auto& runs = data.runs;
    page.add(MetricId::collective_duration_seconds, {backend, collective}, data.duration,
             kLatencyBounds);
    for_each<model::Outcome>([&](model::Outcome outcome, std::size_t i) {
      page.add(MetricId::collective_runs_total, {backend, collective, name(outcome)},
               static_cast<double>(runs[i]));
    });
    if (data.last_success) {
      page.add(MetricId::collective_last_success_timestamp_seconds, {backend, collective},
               unix_seconds(*data.last_success));
    }
  }
}

void add_rendezvous(Exposition& page, const Counters& counters) {
  for (const auto& [key, data] : counters.rendezvous) {
    const std::string_view store = key;
    const auto& runs = data.runs;
    page.add(MetricId::rendezvous_duration_seconds, {store}, data.duration, kLatencyBounds);
    for_each<model::Outcome>([&](model::Outcome outcome, std::size_t i) {
      page.add(MetricId::rendezvous_runs_total, {store, name(outcome)},
               static_cast<double>(runs[i]));
    });
  }
}

void add_fingerprints(Exposition& page, const Snapshot& s) {
  std::set<model::Fingerprint> active;
  for (const ActiveFingerprint& f : s.fingerprints) active.insert(f.id);

  for_each<model::Fingerprint>([&](model::Fingerprint id, std::size_t) {
    if (id == model::Fingerprint::none) return;
    page.add(MetricId::fingerprint_active, {name(id)}, active.count(id) != 0 ? 1 : 0);
    for_each<model::Source>([&](model::Source source, std::size_t) {
      if (!can_see(source, id)) return;
      const auto events = s.counters.fingerprint_events.find({id, source});
      const bool none = events == s.counters.fingerprint_events.end();
      page.add(MetricId::fingerprint_events_total, {name(id), name(source)},
               none ? 0 : static_cast<double>(events->second));
    });
  });
  for (const auto& [id, time] : s.counters.fingerprint_last_seen) {
    if (id == model::Fingerprint::none) continue;
    page.add(MetricId::fingerprint_last_seen_timestamp_seconds, {name(id)}, unix_seconds(time));
  }
}

/// "b->a" belongs to the link "a<->b". PromQL cannot sort two names, so the agent does it once,
/// and alerts join on it (configs/alerts.yml).
std::string link_of(const std::string& directed) {
  const std::size_t arrow = directed.find("->");
  if (arrow == std::string::npos) return directed;
  const std::string from = directed.substr(0, arrow);
  const std::string to = directed.substr(arrow + 2);
  return from < to ? from + "<->" + to : to + "<->" + from;
}

void add_suspects(Exposition& page, const Snapshot& s) {
  for (const Verdict& v : s.verdicts) {
    page.add(
        MetricId::suspect,
        {name(v.kind), v.entity, name(v.reason), name(v.fingerprint), name(v.state), name(v.view)},
        1);
    if (v.kind == model::Kind::directed_link) {
      page.add(MetricId::suspect_link_info, {v.entity, link_of(v.entity)}, 1);
    }
  }
}

void add_stragglers(Exposition& page, const Snapshot& s) {
  std::vector<const Edge*> late;
  for (const Edge& edge : s.edges) {
    if (edge.lateness_seconds > 0) late.push_back(&edge);
  }
  std::stable_sort(late.begin(), late.end(), [](const Edge* x, const Edge* y) {
    return x->lateness_seconds > y->lateness_seconds;
  });
  if (late.size() > kMaxStragglers) late.resize(kMaxStragglers);
  for (const Edge* edge : late) {
    page.add(MetricId::straggler_lateness_seconds, {edge->peer}, edge->lateness_seconds);
  }
}

void add_members(Exposition& page, const Snapshot& s) {
  std::array<int, model::kCount<model::MemberState>> count{};
  for (const Member& m : s.members) ++count[static_cast<std::size_t>(m.state)];
  for_each<model::MemberState>([&](model::MemberState state, std::size_t i) {
    page.add(MetricId::members, {name(state)}, count[i]);
  });
}

void add_own_health(Exposition& page, const Snapshot& s, double snapshot_age_seconds) {
  page.add(MetricId::local_health_score, {}, s.local_health);
  page.add(MetricId::scheduling_delay_seconds, {}, s.scheduling_delay_seconds);
  page.add(MetricId::edges_unobserved_ratio, {}, s.edges_unobserved_ratio);
  page.add(MetricId::clock_skew_seconds, {}, s.clock_skew_seconds);
  page.add(MetricId::round_age_seconds, {}, s.round_age_seconds + snapshot_age_seconds);
}

void add_workers(Exposition& page, const Snapshot& s) {
  for (const auto& [key, count] : s.counters.probe_skipped) {
    page.add(MetricId::probe_skipped_total, {key.first, name(key.second)},
             static_cast<double>(count));
  }
  for (const auto& [key, count] : s.counters.worker_restarts) {
    page.add(MetricId::worker_restarts_total, {key.first, key.second}, static_cast<double>(count));
  }
  page.add(MetricId::worker_unreaped, {}, s.workers_unreaped);
  page.add(MetricId::memory_limit_bytes, {}, static_cast<double>(s.memory_limit_bytes));
  page.add(MetricId::memory_short, {}, s.is_short_of_memory ? 1 : 0);
  page.add(MetricId::events_dropped_total, {}, static_cast<double>(s.events_dropped));
  page.add(MetricId::config_reload_success, {}, s.config_reload_success ? 1 : 0);
}

void add_watch(Exposition& page, const Watch& watch) {
  page.add(MetricId::log_bytes_total, {}, static_cast<double>(watch.log_bytes));
  page.add(MetricId::log_skipped_bytes_total, {}, static_cast<double>(watch.log_skipped_bytes));
  page.add(MetricId::log_lag_bytes, {}, static_cast<double>(watch.log_lag_bytes));
  page.add(MetricId::log_waiting_files, {}, static_cast<double>(watch.log_waiting_files));
  for (const WatchedSource& source : watch.sources) {
    page.add(MetricId::watch_up, {name(source.source)}, source.works ? 1 : 0);
  }
}

void add_jobs(Exposition& page, const std::vector<Job>& jobs) {
  int all = 0;
  std::map<std::array<std::string, 4>, int> by_kind;
  for (const Job& job : jobs) {
    all += job.processes;
    by_kind[{job.backend, job.torch, job.nccl, job.stalled ? "true" : "false"}] += job.processes;
  }
  page.add(MetricId::training_processes, {}, all);
  for (const auto& [labels, count] : by_kind) {
    page.add(MetricId::training_backend_info, {labels[0], labels[1], labels[2], labels[3]}, count);
  }
}

void add_process(Exposition& page, const ProcessMetrics& p) {
  page.add(MetricId::process_cpu_seconds_total, {}, p.cpu_seconds);
  page.add(MetricId::process_resident_memory_bytes, {}, p.resident_bytes);
  page.add(MetricId::process_open_fds, {}, p.open_fds);
  if (p.max_fds > 0) page.add(MetricId::process_max_fds, {}, p.max_fds);
  page.add(MetricId::process_threads, {}, p.threads);
  page.add(MetricId::process_start_time_seconds, {}, p.start_time_seconds);
}

}  // namespace

std::string render(const Snapshot& snapshot, const PageContext& context) {
  Exposition page;
  add_identity(page, snapshot);
  add_edges(page, snapshot.counters);
  add_collectives(page, snapshot.counters);
  add_rendezvous(page, snapshot.counters);
  add_fingerprints(page, snapshot);
  add_suspects(page, snapshot);
  add_stragglers(page, snapshot);
  add_members(page, snapshot);
  add_own_health(page, snapshot, context.snapshot_age_seconds);
  add_workers(page, snapshot);
  add_watch(page, snapshot.watch);
  add_jobs(page, snapshot.jobs);
  if (context.process) add_process(page, *context.process);
  return page.text();
}

}  // namespace collwatch::exporters
