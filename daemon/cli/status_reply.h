// SPDX-License-Identifier: Apache-2.0
//
// An agent's /api/v1/status as the CLI reads it. Words stay text, so that an older CLI shows what a
// newer agent says; unknown fields are ignored. Pure; never throws. The text comes from the
// network, so control characters are replaced before anything reaches a terminal.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "probes/model/result.h"

namespace collwatch::cli {

using WallTime = std::chrono::system_clock::time_point;

struct StatusReply {
  struct Member {
    std::string name, state;
  };
  struct Edge {
    std::string peer;
    std::optional<std::string> outcome;  ///< nothing before the first round
    std::optional<double> round_trip_seconds;
    double loss = 0;
    bool heard = false;
    bool available = true;
  };
  struct Worker {
    std::string backend, state, text;
  };
  struct Watched {
    std::string source;
    bool works = true;
    std::string text;  ///< why it does not, or not fully
  };
  struct Collective {
    std::string backend, collective, outcome;
    std::uint64_t size_bytes = 0;
    double seconds = 0;
  };
  /// A call of Gloo that this node's libtorch refuses.
  struct Refusal {
    std::string text;
    std::vector<std::string> calls;
  };
  struct Fingerprint {
    std::string id, source;
    std::optional<WallTime> since;
  };
  struct Verdict {
    std::string kind, entity, reason, fingerprint, state, confidence, view;
    std::vector<std::string> observers, ambiguous_with;
    std::optional<WallTime> since;
    std::string since_text;  ///< RFC 3339, as it came
  };

  std::string node, version;
  std::vector<Member> members;
  std::int64_t round_number = 0;
  double round_age_seconds = 0;
  std::optional<std::int64_t> clean_rounds;  ///< on end; older agents do not tell
  int local_health = 0;
  std::vector<Worker> workers;   ///< of this node; older agents do not tell
  std::vector<Watched> watched;  ///< logs, kernel, processes; older agents do not tell
  std::vector<Edge> edges;
  std::vector<Collective> collectives;
  std::vector<Fingerprint> fingerprints;
  std::vector<Verdict> verdicts;  ///< worst first
  std::string torch;              ///< its version; empty: not looked at
  std::vector<Refusal> refusals;
};

model::Result<StatusReply> parse_status(const std::string& json);

/// What became of a verdict: its fields and the event's own. `verdict.state` may be "cleared".
struct VerdictEvent {
  StatusReply::Verdict verdict;
  std::string time_text;
};
/// The verdict events of /api/v1/events, oldest first.
model::Result<std::vector<VerdictEvent>> parse_verdict_events(const std::string& json);

/// "2026-01-02T03:04:05.678Z", nothing if it is not one.
std::optional<WallTime> parse_time(const std::string& text);
/// Local time: "12:01:03", with the date in front when it is not today's.
std::string clock_text(WallTime time, WallTime now);

}  // namespace collwatch::cli
