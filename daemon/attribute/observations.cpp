// SPDX-License-Identifier: Apache-2.0
//
// See observations.h.
#include "daemon/attribute/observations.h"

#include <algorithm>
#include <map>
#include <utility>

#include "daemon/attribute/local_health.h"
#include "probes/model/result.h"

namespace collwatch::attribute {
namespace {

using model::Outcome;
using model::Reason;

constexpr std::int32_t kLossy = 2;  ///< datagrams missing
constexpr std::int32_t kNowAndThen = 2;
constexpr double kLossyTrust = 0.25;

bool takes_part(const Evidence& evidence, Member member) {
  return member < evidence.members && member < evidence.expected.size() &&
         evidence.expected[member];
}

void add_word(PairView& pair, const ObserverReport& report, const EdgeWord& word) {
  const double trust = weight(report.local_health);
  if (word.state == EdgeState::ok) {
    pair.ok.push_back({report.observer, word.round, std::max(1, word.ok_rounds)});
  }
  if (word.state == EdgeState::failing && trust > 0) {
    // On a path known to lose packets an exchange fails now and then; a fault goes on failing.
    const bool expected = word.lost >= kLossy && word.failed_rounds <= kNowAndThen;
    pair.failing.push_back({report.observer, word.peer, expected ? trust * kLossyTrust : trust,
                            std::max(1, word.failed_rounds), word.failing_since, word.round,
                            word.outcome, word.reason});
  }
  // Before its own edge has failed an observer's ear tells of the time before the fault.
  if (word.state == EdgeState::failing && word.inbound != Heard::unknown && trust > 0) {
    pair.hearings.push_back({word.peer, report.observer, word.inbound == Heard::heard, trust});
  }
}

/// The other end has seen this edge work in a later round: the failure is over, the word is old.
void drop_what_is_over(PairView& pair) {
  const auto is_over = [&pair](const FailingWord& word) {
    return std::any_of(pair.ok.begin(), pair.ok.end(), [&word](const OkWord& ok) {
      return ok.observer != word.observer && ok.round > word.last;
    });
  };
  pair.failing.erase(std::remove_if(pair.failing.begin(), pair.failing.end(), is_over),
                     pair.failing.end());
}

}  // namespace

Observations observe(const Evidence& evidence) {
  Observations result;
  result.members = evidence.members;
  result.self = evidence.self;
  result.round = evidence.round;
  result.confirms.assign(evidence.members, false);
  for (Member m = 0; m < evidence.members; ++m) {
    result.takes_part.push_back(takes_part(evidence, m));
    result.expected += takes_part(evidence, m) ? 1 : 0;
  }

  std::map<std::pair<Member, Member>, PairView> pairs;
  for (const ObserverReport& report : evidence.reports) {
    if (!takes_part(evidence, report.observer)) continue;
    for (const EdgeWord& word : report.edges) {
      if (!takes_part(evidence, word.peer) || word.peer == report.observer) continue;
      const auto ends = std::minmax(report.observer, word.peer);
      PairView& pair = pairs[{ends.first, ends.second}];
      pair.a = ends.first;
      pair.b = ends.second;
      add_word(pair, report, word);
      if (word.state == EdgeState::failing) result.confirms[report.observer] = true;
    }
  }
  for (auto& [ends, pair] : pairs) {
    drop_what_is_over(pair);
    // A witness never convicts alone: it may be filtered where the edge works.
    if (pair.failing.empty()) pair.hearings.clear();
    result.any_failing = result.any_failing || !pair.failing.empty();
    result.pairs.push_back(std::move(pair));
  }
  return result;
}

bool proves_node(const FailingWord& word) {
  if (word.outcome == Outcome::refused) return true;
  if (!word.reason) return false;
  switch (*word.reason) {
    case Reason::agent_down:
    case Reason::refused:
    case Reason::worker_crash:
    case Reason::worker_stuck:
      return true;
    default:
      return false;
  }
}

bool ran_into_silence(const FailingWord& word) {
  return word.outcome == Outcome::timeout || word.outcome == Outcome::unreachable;
}

bool accuses_itself(const FailingWord& word) {
  return word.outcome == Outcome::worker_crash || word.outcome == Outcome::worker_stuck;
}

}  // namespace collwatch::attribute
