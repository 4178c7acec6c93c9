// SPDX-License-Identifier: Apache-2.0
//
// What the agent keeps for its exporters between two snapshots: counters, the last result of each
// collective, recent events; and where events go: JSONL file, log line, ring for /api/v1/events.
// Lives on the event loop's thread.
#pragma once

#include <deque>
#include <map>
#include <memory>
#include <string>
#include <tuple>
#include <utility>

#include "exporters/jsonl/event_log.h"
#include "exporters/snapshot.h"

namespace collwatch::agent {

class Ledger {
 public:
  explicit Ledger(std::string node);

  void set_event_log(std::unique_ptr<exporters::EventLog> log) { event_log_ = std::move(log); }

  void count_edge(model::Outcome outcome, std::optional<double> round_trip_seconds);
  void count_witness(const std::string& direction, const std::string& outcome, std::uint64_t total);
  void count_collective(const exporters::CollectiveResult& result, std::uint64_t largest_size);
  void count_rendezvous(const std::string& store, model::Outcome outcome, double seconds);
  void count_skip(const std::string& probe, model::SkipReason reason);
  void count_restart(const std::string& probe, const std::string& reason);
  void count_fingerprint(model::Fingerprint id, model::Source source);
  void see_again(model::Fingerprint id);

  /// Stamps, logs, stores and writes one event.
  void record(exporters::Event event);
  void note(const std::string& type, const std::string& state, const std::string& text);

  /// Of the recent ones, from now on, as long as memory is short.
  void keep_few_events(bool few);

  std::uint64_t events_dropped() const { return event_log_ ? event_log_->lost() : 0; }
  const exporters::Counters& counters() const { return counters_; }
  std::vector<exporters::CollectiveResult> collectives() const;
  std::vector<exporters::Event> recent_events() const;

 private:
  void trim();

  std::string node_;
  exporters::Counters counters_;
  /// By backend, collective, size.
  std::map<std::tuple<std::string, model::Collective, std::uint64_t>, exporters::CollectiveResult>
      collectives_;
  std::deque<exporters::Event> recent_;
  bool is_keeping_few_ = false;
  std::unique_ptr<exporters::EventLog> event_log_;
};

}  // namespace collwatch::agent
