// SPDX-License-Identifier: Apache-2.0
//
// The one place of the daemon where an event becomes a counter, a log line and a file line.
#include "daemon/agent/ledger.h"

#include <spdlog/spdlog.h>

#include <set>

namespace collwatch::agent {

namespace {
constexpr std::size_t kRecentEvents = 256;
constexpr std::size_t kFewEvents = 16;
}  // namespace

Ledger::Ledger(std::string node) : node_(std::move(node)) {}

void Ledger::count_edge(model::Outcome outcome, std::optional<double> round_trip_seconds) {
  ++counters_.edge_rounds[static_cast<std::size_t>(outcome)];
  if (round_trip_seconds) {
    counters_.edge_round_trip.observe(*round_trip_seconds, exporters::kLatencyBounds);
  }
}

void Ledger::count_witness(const std::string& direction, const std::string& outcome,
                           std::uint64_t total) {
  counters_.witness_datagrams[{direction, outcome}] = total;
}

void Ledger::count_collective(const exporters::CollectiveResult& result,
                              std::uint64_t largest_size) {
  auto& counts = counters_.collectives[{result.backend, result.collective}];
  ++counts.runs[static_cast<std::size_t>(result.outcome)];
  if (result.outcome == model::Outcome::ok) {
    counts.last_success = result.at;
    if (result.size_bytes == largest_size || result.collective == model::Collective::barrier) {
      counts.duration.observe(result.seconds, exporters::kLatencyBounds);
    }
  }
  collectives_[{result.backend, result.collective, result.size_bytes}] = result;
}

void Ledger::count_rendezvous(const std::string& store, model::Outcome outcome, double seconds) {
  auto& counts = counters_.rendezvous[store];
  ++counts.runs[static_cast<std::size_t>(outcome)];
  counts.duration.observe(seconds, exporters::kLatencyBounds);
}

void Ledger::count_skip(const std::string& probe, model::SkipReason reason) {
  ++counters_.probe_skipped[{probe, reason}];
}

void Ledger::count_restart(const std::string& probe, const std::string& reason) {
  ++counters_.worker_restarts[{probe, reason}];
}

void Ledger::count_fingerprint(model::Fingerprint id, model::Source source) {
  if (id == model::Fingerprint::none) return;
  ++counters_.fingerprint_events[{id, source}];
  see_again(id);
}

void Ledger::see_again(model::Fingerprint id) {
  counters_.fingerprint_last_seen[id] = std::chrono::system_clock::now();
}

void Ledger::record(exporters::Event event) {
  event.time = std::chrono::system_clock::now();
  event.node = node_;
  static const std::set<std::string> kLoud = {
      "page",      "ticket",     "worker_crash",   "rejected",    "worker_stuck",
      "bad_token", "unresolved", "teardown_stuck", "gpu_trouble", "version_mismatch"};
  const bool loud = kLoud.contains(event.state);
  spdlog::log(loud ? spdlog::level::warn : spdlog::level::info, "{} {}: {}", event.type,
              event.state, event.text);
  if (event_log_) event_log_->append(event);
  recent_.push_back(std::move(event));
  trim();
}

void Ledger::keep_few_events(bool few) {
  is_keeping_few_ = few;
  trim();
}

void Ledger::trim() {
  const std::size_t most = is_keeping_few_ ? kFewEvents : kRecentEvents;
  while (recent_.size() > most) recent_.pop_front();
  if (is_keeping_few_) recent_.shrink_to_fit();
}

void Ledger::note(const std::string& type, const std::string& state, const std::string& text) {
  exporters::Event event;
  event.type = type;
  event.state = state;
  event.text = text;
  record(std::move(event));
}

std::vector<exporters::CollectiveResult> Ledger::collectives() const {
  std::vector<exporters::CollectiveResult> all;
  for (const auto& [key, result] : collectives_) all.push_back(result);
  return all;
}

std::vector<exporters::Event> Ledger::recent_events() const {
  return {recent_.begin(), recent_.end()};
}

}  // namespace collwatch::agent
