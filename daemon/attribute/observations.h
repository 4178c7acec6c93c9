// SPDX-License-Identifier: Apache-2.0
//
// Evidence made ready for the cover: words grouped by pair of members, weighed by their observer's
// health, without what is over or says nothing. Internal to daemon/attribute; pure.
#pragma once

#include <optional>
#include <vector>

#include "daemon/attribute/evidence.h"

namespace collwatch::attribute {

/// Rounds until every payload size had its turn on every pair (schedule/large_payload).
inline constexpr int kSizesInTurn = 3;

struct FailingWord {
  Member observer = 0;
  Member peer = 0;
  double weight = 1;
  int rounds = 1;  ///< distinct failing rounds
  std::int64_t first = 0;
  std::int64_t last = 0;
  model::Outcome outcome = model::Outcome::timeout;
  std::optional<model::Reason> reason;
};

struct OkWord {
  Member observer = 0;
  std::int64_t round = 0;
  int rounds = 1;  ///< successive ok rounds up to `round`
};

/// `to` says whether it hears `from`.
struct Hearing {
  Member from = 0;
  Member to = 0;
  bool heard = false;
  double weight = 1;
};

/// What both ends say about the edge between a < b.
struct PairView {
  Member a = 0;
  Member b = 0;
  std::vector<FailingWord> failing;
  std::vector<OkWord> ok;
  std::vector<Hearing> hearings;
  Member other(Member end) const { return end == a ? b : a; }
  bool has(Member end) const { return end == a || end == b; }
};

struct Observations {
  std::uint32_t members = 0;
  std::uint32_t expected = 0;  ///< how many members take part
  Member self = 0;
  std::int64_t round = 0;
  std::vector<PairView> pairs;   ///< those somebody has a word about
  std::vector<bool> takes_part;  ///< by member
  std::vector<bool> confirms;    ///< by member: it spoke after a failure of an edge of its own
  bool any_failing = false;
};

Observations observe(const Evidence& evidence);

/// The accused's side answered or reset: no path can be blamed, one observer is enough.
bool proves_node(const FailingWord& word);
/// It failed by waiting in vain, not by a reset, which may come at any time of a round.
bool ran_into_silence(const FailingWord& word);
/// The observer's own worker is what failed; its word accuses nobody else.
bool accuses_itself(const FailingWord& word);

}  // namespace collwatch::attribute
