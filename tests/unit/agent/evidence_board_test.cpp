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
constexpr std::int64_t kRound = 1'700'000'000;

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
  made.hear(0, words("n0", "n2", EdgeState::ok), kRound, kNow);
  REQUIRE(made.word(0, 2, kNow).has_value());
  CHECK(made.word(0, 2, kNow)->state == EdgeState::ok);
  CHECK(made.somebody_reaches(2, kNow));
  made.hear(0, words("n0", "n0", EdgeState::failing), kRound, kNow);
  CHECK_FALSE(made.word(0, 0, kNow).has_value());
  made.hear(0, words("n0", "stranger", EdgeState::failing), kRound, kNow);
  const auto evidence = made.evidence({}, {true, true, true}, kNow);
  REQUIRE(evidence.reports.size() == 2);
  CHECK(evidence.reports[0].edges.empty());
  CHECK(evidence.reports[0].local_health == 8);
}

TEST_CASE("the same said twenty times is one word, and none is from the future") {
  EvidenceBoard made = board();
  WitnessMessage loud = words("n0", "n2", EdgeState::failing);
  loud.round = INT64_MAX;
  loud.edges[0].word.round = INT64_MAX;
  loud.edges[0].word.failing_since = INT64_MIN;
  while (loud.edges.size() < 20) loud.edges.push_back(loud.edges[0]);
  made.hear(0, loud, kRound, kNow);
  const auto evidence = made.evidence({}, {true, true, true}, kNow);
  REQUIRE(evidence.reports[0].edges.size() == 1);
  CHECK(evidence.reports[0].round == kRound + 1);
  CHECK(evidence.reports[0].edges[0].round == kRound + 1);
  CHECK(evidence.reports[0].edges[0].failing_since == kRound - 1'000'000);
}

TEST_CASE("a word older than two rounds is nobody's word") {
  EvidenceBoard made = board();
  made.hear(0, words("n0", "n2", EdgeState::ok), kRound, kNow);
  CHECK(made.evidence({}, {}, kNow + 1900ms).reports.size() == 2);
  CHECK(made.evidence({}, {}, kNow + 2100ms).reports.size() == 1);
  CHECK_FALSE(made.word(0, 2, kNow + 2100ms).has_value());
}
