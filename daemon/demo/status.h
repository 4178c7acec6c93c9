// SPDX-License-Identifier: Apache-2.0
//
// What the demo reads out of one agent's /api/v1/status (design 2.6): only the parts that it shows
// or judges. Parsed in status.cpp, the one place here that knows the JSON; plain data otherwise.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "probes/model/result.h"
#include "probes/model/vocabulary.h"

namespace collwatch::demo {

struct VerdictView {
  model::Kind kind = model::Kind::node;
  std::string entity;
  model::Reason reason = model::Reason::unreachable;
  model::Fingerprint fingerprint = model::Fingerprint::none;
  model::VerdictState state = model::VerdictState::suspect;
  std::string json;  ///< the whole object as the agent sent it, on one line
};

struct EdgeView {
  std::string peer;
  std::optional<model::Outcome> outcome;
  std::optional<double> round_trip_seconds;
};

struct AgentStatus {
  std::string node;
  std::int64_t round = 0;
  int local_health = 0;
  std::vector<EdgeView> edges;
  std::vector<VerdictView> verdicts;
};

/// Never throws; an Error says which field is missing or strange.
model::Result<AgentStatus> parse_status(std::string_view body);

/// `text` as a JSON string, quotes included.
std::string json_string(std::string_view text);

}  // namespace collwatch::demo
