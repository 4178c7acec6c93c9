// SPDX-License-Identifier: Apache-2.0
//
// Evidence in a few words, for tests: a healthy clique at some round, into which failures are
// written edge by edge. Header only.
#pragma once

#include <initializer_list>
#include <optional>

#include "daemon/attribute/evidence.h"

namespace collwatch::tests {

using attribute::EdgeState;
using attribute::EdgeWord;
using attribute::Evidence;
using attribute::Heard;
using attribute::Member;

struct Failure {
  model::Outcome outcome = model::Outcome::timeout;
  Heard inbound = Heard::unknown;
  std::optional<model::Reason> reason;
  std::int64_t since = 100;
  int rounds = 1;
};

class EvidenceBuilder {
 public:
  /// Everybody reports every edge ok in `round`.
  EvidenceBuilder(std::uint32_t members, Member self, std::int64_t round = 100) {
    evidence_.self = self;
    evidence_.members = members;
    evidence_.round = round;
    evidence_.expected.assign(members, true);
    for (Member o = 0; o < members; ++o) {
      attribute::ObserverReport report;
      report.observer = o;
      report.round = round;
      for (Member p = 0; p < members; ++p) {
        if (p == o) continue;
        EdgeWord word;
        word.peer = p;
        word.state = EdgeState::ok;
        word.round = round;
        word.ok_rounds = 50;
        word.inbound = Heard::heard;
        report.edges.push_back(word);
      }
      evidence_.reports.push_back(report);
    }
  }

  EdgeWord& word(Member observer, Member peer) {
    for (auto& report : evidence_.reports) {
      if (report.observer != observer) continue;
      for (EdgeWord& w : report.edges) {
        if (w.peer == peer) return w;
      }
    }
    return spare_;
  }

  EvidenceBuilder& fails(Member observer, Member peer, const Failure& how = {}) {
    EdgeWord& w = word(observer, peer);
    w.state = EdgeState::failing;
    w.outcome = how.outcome;
    w.failing_since = how.since;
    w.failed_rounds = how.rounds;
    w.round = how.since + how.rounds - 1;
    w.ok_rounds = 0;
    w.inbound = how.inbound;
    w.reason = how.reason;
    return *this;
  }

  /// The edge fails at both ends.
  EvidenceBuilder& broken(Member a, Member b, const Failure& how = {}) {
    return fails(a, b, how).fails(b, a, how);
  }

  /// Every edge of `n` fails, at its peers only.
  EvidenceBuilder& all_complain_of(Member n, const Failure& how = {}) {
    for (Member o = 0; o < evidence_.members; ++o) {
      if (o != n) fails(o, n, how);
    }
    return *this;
  }
  EvidenceBuilder& complains_of_all(Member n, const Failure& how = {}) {
    for (Member p = 0; p < evidence_.members; ++p) {
      if (p != n) fails(n, p, how);
    }
    return *this;
  }

  /// Nothing of what this observer says arrives.
  EvidenceBuilder& unheard(Member observer) {
    std::vector<attribute::ObserverReport> kept;
    for (auto& report : evidence_.reports) {
      if (report.observer != observer) kept.push_back(report);
    }
    evidence_.reports = kept;
    return *this;
  }

  /// Its words are from before `round`.
  EvidenceBuilder& stale(Member observer, std::int64_t round) {
    for (auto& report : evidence_.reports) {
      if (report.observer != observer) continue;
      report.round = round;
      for (EdgeWord& w : report.edges) w.round = round;
    }
    return *this;
  }

  EvidenceBuilder& health(Member observer, int score) {
    for (auto& report : evidence_.reports) {
      if (report.observer == observer) report.local_health = score;
    }
    return *this;
  }

  Evidence& evidence() { return evidence_; }

 private:
  Evidence evidence_;
  EdgeWord spare_;
};

}  // namespace collwatch::tests
