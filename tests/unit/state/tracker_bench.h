// SPDX-License-Identifier: Apache-2.0
//
// A tracker at n0, fed round by round with evidence and the real explain(); time is a number.
// Shared by the tracker's unit tests; header only.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "daemon/attribute/explain.h"
#include "daemon/state/tracker.h"
#include "tests/support/catch.h"
#include "tests/unit/attribute/evidence_builder.h"

namespace collwatch::tests {

inline const Failure kUnreachable{model::Outcome::timeout, Heard::silent,
                                  model::Reason::unreachable};
inline const Failure kCrash{model::Outcome::peer_lost, Heard::heard, model::Reason::worker_crash};

/// A tracker at n0 of four, fed round by round (tick at the round's end, one second each).
class Bench {
 public:
  explicit Bench(std::uint32_t members = 4, state::Limits limits = {})
      : members_(members), tracker_(names(members), state::page_threshold(members, 1.0), limits) {
    ok(3);  // what began before it met them it would not judge
  }

  static std::vector<std::string> names(std::uint32_t members) {
    std::vector<std::string> all;
    for (std::uint32_t i = 0; i < members; ++i) all.push_back("n" + std::to_string(i));
    return all;
  }

  void feed(Evidence& evidence, const std::vector<state::Claim>& claims = {}) {
    attribute::Parameters parameters;
    parameters.standing = tracker_.standing();
    const state::Moment now{
        evidence.round, static_cast<double>(evidence.round),
        exporters::WallTime(std::chrono::seconds(1'700'000'000 + evidence.round))};
    step_ = tracker_.update(now, evidence, attribute::explain(evidence, parameters), claims);
    for (const auto& event : step_.events) {
      events_.push_back(event.state + " " + (event.verdict ? event.verdict->entity : ""));
    }
  }

  /// So many rounds in which everybody is well.
  void ok(int rounds, const std::vector<state::Claim>& claims = {}) {
    for (int i = 0; i < rounds; ++i) {
      ++round_;
      ++ok_run_;
      EvidenceBuilder world(members_, 0, round_);
      for (auto& report : world.evidence().reports) {
        for (auto& word : report.edges) word.ok_rounds = ok_run_;
      }
      feed(world.evidence(), claims);
    }
  }

  /// So many rounds in which all complain of `n`.
  void node_fails(Member n, const Failure& how, int rounds) {
    fails(rounds, [n, how](EvidenceBuilder& world, Failure f) {
      f.outcome = how.outcome;
      f.inbound = how.inbound;
      f.reason = how.reason;
      world.all_complain_of(n, f).unheard(n);
    });
  }

  template <typename Write>
  void fails(int rounds, Write write) {
    if (ok_run_ > 0) since_ = round_ + 1;
    ok_run_ = 0;
    for (int i = 0; i < rounds; ++i) {
      ++round_;
      EvidenceBuilder world(members_, 0, round_);
      Failure how;
      how.since = since_;
      how.rounds = static_cast<int>(round_ - since_ + 1);
      write(world, how);
      feed(world.evidence());
    }
  }

  const exporters::Verdict& only() const {
    REQUIRE(step_.verdicts.size() == 1);
    return step_.verdicts.front();
  }
  const std::vector<exporters::Verdict>& verdicts() const { return step_.verdicts; }
  std::vector<std::string> take_events() { return std::exchange(events_, {}); }
  std::int64_t round() const { return round_; }
  state::Tracker& tracker() { return tracker_; }

 private:
  std::uint32_t members_;
  state::Tracker tracker_;
  state::Step step_;
  std::vector<std::string> events_;
  std::int64_t round_ = 100;
  std::int64_t since_ = 0;
  int ok_run_ = 0;
};

using Texts = std::vector<std::string>;

}  // namespace collwatch::tests
