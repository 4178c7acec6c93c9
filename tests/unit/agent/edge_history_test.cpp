// SPDX-License-Identifier: Apache-2.0
//
// What an edge's history tells: runs of failures, the first outcome kept, reasons and their rank.
#include "daemon/agent/edge_history.h"

#include "tests/support/catch.h"

using collwatch::agent::EdgeHistory;
using collwatch::attribute::EdgeState;
using collwatch::attribute::Heard;
using collwatch::model::Outcome;
using collwatch::model::Reason;
using namespace std::chrono_literals;

namespace {
const EdgeHistory::Steady kStart{std::chrono::hours(1)};
constexpr std::chrono::milliseconds kInterval{1000};
}  // namespace

TEST_CASE("a run of failures keeps its first outcome and counts distinct rounds") {
  EdgeHistory edge;
  edge.on_ok(10, kStart, 0.001);
  CHECK(edge.on_failure(11, Outcome::timeout, kStart));
  CHECK_FALSE(edge.on_failure(11, Outcome::unreachable, kStart));
  CHECK_FALSE(edge.on_failure(12, Outcome::unreachable, kStart));
  const auto word = edge.word(3, kStart + 2s, kInterval);
  CHECK(word.peer == 3);
  CHECK(word.state == EdgeState::failing);
  CHECK(word.outcome == Outcome::timeout);
  CHECK(word.failing_since == 11);
  CHECK(word.failed_rounds == 2);
  CHECK(edge.latest() == Outcome::unreachable);
}

TEST_CASE("an ok round ends the run and its reason") {
  EdgeHistory edge;
  edge.on_failure(5, Outcome::peer_lost, kStart);
  edge.on_reason(Reason::agent_down, false);
  edge.on_ok(7, kStart, std::nullopt);
  edge.on_ok(8, kStart, std::nullopt);
  const auto word = edge.word(0, kStart, kInterval);
  CHECK(word.state == EdgeState::ok);
  CHECK(word.ok_rounds == 2);
  CHECK(word.failing_since == 0);
  CHECK_FALSE(word.reason.has_value());
}

TEST_CASE("the accused's own word about its worker beats a dial") {
  EdgeHistory edge;
  edge.on_failure(5, Outcome::timeout, kStart);
  edge.on_reason(Reason::worker_stuck, true);
  edge.on_reason(Reason::unreachable, false);
  CHECK(edge.reason() == Reason::worker_stuck);
}

TEST_CASE("a closed connection is an echo when the peer says it timed out first") {
  EdgeHistory edge;
  edge.on_failure(5, Outcome::peer_lost, kStart);
  edge.on_peer_failure(Outcome::timeout);
  CHECK(edge.word(0, kStart, kInterval).outcome == Outcome::timeout);
  EdgeHistory timed_out;
  timed_out.on_failure(5, Outcome::timeout, kStart);
  timed_out.on_peer_failure(Outcome::peer_lost);
  CHECK(timed_out.word(0, kStart, kInterval).outcome == Outcome::timeout);
}

TEST_CASE("what was heard before the failing exchange says nothing about the fault") {
  EdgeHistory edge;
  edge.on_ok(5, kStart, std::nullopt);
  edge.on_heard(kStart);
  CHECK(edge.inbound(kStart + 100ms, kInterval) == Heard::heard);
  edge.on_failure(6, Outcome::timeout, kStart + 500ms);
  CHECK(edge.inbound(kStart + 1000ms, kInterval) != Heard::heard);
  CHECK(edge.inbound(kStart + 3000ms, kInterval) == Heard::silent);
  edge.on_heard(kStart + 3100ms);
  CHECK(edge.inbound(kStart + 3200ms, kInterval) == Heard::heard);
}

TEST_CASE("losing our own worker ends every accusation") {
  EdgeHistory edge;
  edge.on_ok(4, kStart, 0.5);
  edge.on_failure(5, Outcome::timeout, kStart);
  edge.forget();
  CHECK(edge.word(0, kStart, kInterval).state == EdgeState::unknown);
  CHECK(edge.ever_ok());
}
