// SPDX-License-Identifier: Apache-2.0
//
// See observations.h.
#include "daemon/attribute/observations.h"

#include <algorithm>
#include <map>
#include <set>
#include <utility>

#include "daemon/attribute/cover.h"
#include "daemon/attribute/impairment.h"
#include "daemon/attribute/local_health.h"
#include "probes/model/result.h"

namespace collwatch::attribute {
namespace {

using model::Outcome;
using model::Reason;

constexpr int kLosingWords = 2;
constexpr std::int32_t kNowAndThen = 30;  ///< rounds
constexpr double kImpairedTrust = 0.01;
constexpr std::int32_t kLateRounds = 3;  ///< no host is late for so long without a break

bool takes_part(const Evidence& evidence, Member member) {
  return member < evidence.members && member < evidence.expected.size() &&
         evidence.expected[member];
}

/// One end has too little processor time, and says so: an exchange with it fails now and then. What
/// is dead is silent, and goes on failing.
bool excused(const EdgeWord& word, bool an_end_is_late) {
  return an_end_is_late && word.outcome == Outcome::timeout && !word.reason &&
         word.inbound != Heard::silent && word.failed_rounds <= kLateRounds;
}

/// On a path that is slow or loses packets an exchange fails now and then, and a large one mostly;
/// a fault goes on failing, or silences.
bool happens_there(const EdgeWord& word) {
  return word.inbound != Heard::silent &&
         (word.failed_rounds <= kNowAndThen || word.reason == Reason::size_blackhole);
}

void add_word(PairView& pair, const ObserverReport& report, const EdgeWord& word, bool impaired,
              bool an_end_is_late) {
  const double trust = weight(report.local_health);
  if (word.state == EdgeState::ok) {
    pair.ok.push_back({report.observer, word.round, std::max(1, word.ok_rounds)});
  }
  if (word.state == EdgeState::failing && trust > 0) {
    const bool expected = (impaired && happens_there(word)) || excused(word, an_end_is_late);
    pair.failing.push_back({report.observer, word.peer, expected ? trust * kImpairedTrust : trust,
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

/// How many words about edges of each member tell of datagrams that are missing.
std::map<Member, int> losing(const Evidence& evidence) {
  std::map<Member, int> words;
  for (const ObserverReport& report : evidence.reports) {
    for (const EdgeWord& word : report.edges) {
      if (word.lost < 1) continue;
      ++words[report.observer];
      ++words[word.peer];
    }
  }
  return words;
}

bool is_impaired(const std::vector<Cause>& known, std::map<Member, int>& losing,
                 Member observer, const EdgeWord& word) {
  // Where small datagrams are lost, too, large payloads fail for that.
  const bool sized = word.reason == Reason::size_blackhole;
  if (sized && std::max(losing[observer], losing[word.peer]) >= kLosingWords) return true;
  if (word.lost >= kLossyPath || word.late_ms > 0) return true;
  return std::any_of(known.begin(), known.end(),
                     [&](const Cause& one) { return covers(one, observer, word.peer); });
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

  std::vector<Cause> impaired = evidence.known_impaired;
  for (const Impairment& one : impairments(evidence)) impaired.push_back(one.cause);
  std::map<Member, int> losing_words = losing(evidence);
  std::set<Member> late;
  for (const ObserverReport& report : evidence.reports) {
    if (report.late) late.insert(report.observer);
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
      add_word(pair, report, word, is_impaired(impaired, losing_words, report.observer, word),
               report.late || late.count(word.peer) != 0);
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
