// SPDX-License-Identifier: Apache-2.0
//
// The evidence board: whose word counts about what, and for how long.
#include "daemon/agent/evidence_board.h"

#include "tests/support/catch.h"

using collwatch::agent::EvidenceBoard;
using collwatch::attribute::EdgeState;
using collwatch::peer::WitnessMessage;
using namespace std::chrono_literals;

namespace {

const EvidenceBoard::Steady kNow{std::chrono::hours(1)};

WitnessMessage words(const std::string& from, const std::string& about, EdgeState state) {
  WitnessMessage message;
  message.from = from;
  message.round = 7;
  message.local_health = 99;
  WitnessMessage::Edge edge;
  edge.peer = collwatch::peer::name_hash(about);
  edge.word.state = state;
  message.edges.push_back(edge);
  return message;
}

EvidenceBoard board() {
  EvidenceBoard made;
  made.set_members({"n0", "n1", "n2"}, "n1", 1000ms);
  return made;
}

}  // namespace

TEST_CASE("words are kept by index, about others only, with health capped") {
  EvidenceBoard made = board();
  made.hear(0, words("n0", "n2", EdgeState::ok), kNow);
  REQUIRE(made.word(0, 2, kNow).has_value());
  CHECK(made.word(0, 2, kNow)->state == EdgeState::ok);
  CHECK(made.somebody_reaches(2, kNow));
  made.hear(0, words("n0", "n0", EdgeState::failing), kNow);
  CHECK_FALSE(made.word(0, 0, kNow).has_value());
  made.hear(0, words("n0", "stranger", EdgeState::failing), kNow);
  const auto evidence = made.evidence({}, {true, true, true}, kNow);
  REQUIRE(evidence.reports.size() == 2);
  CHECK(evidence.reports[0].edges.empty());
  CHECK(evidence.reports[0].local_health == 8);
}

TEST_CASE("a word older than two rounds is nobody's word") {
  EvidenceBoard made = board();
  made.hear(0, words("n0", "n2", EdgeState::ok), kNow);
  CHECK(made.evidence({}, {}, kNow + 1900ms).reports.size() == 2);
  CHECK(made.evidence({}, {}, kNow + 2100ms).reports.size() == 1);
  CHECK_FALSE(made.word(0, 2, kNow + 2100ms).has_value());
}
