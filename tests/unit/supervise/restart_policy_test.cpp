// SPDX-License-Identifier: Apache-2.0
//
// The restart ladder as tables: lives in, delay after the last death out.
#include "daemon/supervise/restart_policy.h"

#include <vector>

#include "tests/support/catch.h"

using namespace collwatch::supervise;
using namespace std::chrono_literals;
using collwatch::base::Millis;
using collwatch::base::TimePoint;

namespace {

const TimePoint kEpoch = TimePoint{} + 1000h;

/// Lives of these lengths, one right after another.
std::vector<Life> lives(const std::vector<Millis>& lengths) {
  std::vector<Life> history;
  TimePoint at = kEpoch;
  for (const Millis length : lengths) {
    remember(history, {at, at + length});
    at += length;
  }
  return history;
}

/// From the last death to the next start, asked at the moment of death.
Millis delay_after(const std::vector<Millis>& lengths) {
  const auto history = lives(lengths);
  const TimePoint died = history.back().ended;
  return std::chrono::duration_cast<Millis>(next_start(history, died) - died);
}

}  // namespace

TEST_CASE("without any death, and after a first one, the start is immediate") {
  CHECK(next_start({}, kEpoch) == kEpoch);
  for (const Millis lived : {0ms, 1ms, 9999ms, 10000ms, 59999ms, 60000ms, 3'600'000ms}) {
    CHECK(delay_after({lived}) == 0ms);
  }
}

TEST_CASE("early deaths double the delay from 100 ms up to 5 s") {
  std::vector<Millis> early;
  std::vector<Millis> delays;
  for (int i = 0; i < 10; ++i) {
    early.push_back(50ms);
    delays.push_back(delay_after(early));
  }
  CHECK(delays == std::vector<Millis>{0ms, 100ms, 200ms, 400ms, 800ms, 1600ms, 3200ms, 5000ms,
                                      5000ms, 5000ms});
}

TEST_CASE("what counts as early, long, or neither") {
  CHECK(delay_after({1s, 9999ms}) == 100ms);
  CHECK(delay_after({1s, 10s}) == 0ms);            // neither: the step stays
  CHECK(delay_after({1s, 1s, 1s, 10s}) == 200ms);  // stays at its height too
  CHECK(delay_after({1s, 1s, 1s, 59999ms}) == 200ms);
  CHECK(delay_after({1s, 1s, 1s, 60s}) == 0ms);  // forgotten
  CHECK(delay_after({1s, 1s, 1s, 60s, 1s}) == 100ms);
  CHECK(delay_after({30s, 1s}) == 100ms);
}

TEST_CASE("the delay counts from the death, and a start that is due is due now") {
  const auto history = lives({1s, 1s, 1s, 1s});  // 400 ms
  const TimePoint died = history.back().ended;
  CHECK(next_start(history, died + 150ms) == died + 400ms);
  CHECK(next_start(history, died + 400ms) == died + 400ms);
  CHECK(next_start(history, died + 2h) == died + 2h);
}

TEST_CASE("a crash loop of any length keeps a bounded history and the longest delay") {
  std::vector<Millis> lengths(100'000, 1ms);
  CHECK(lives(lengths).size() <= 32);
  CHECK(delay_after(lengths) == 5000ms);
  lengths.push_back(61s);
  CHECK(delay_after(lengths) == 0ms);
}
