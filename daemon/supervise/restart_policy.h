// SPDX-License-Identifier: Apache-2.0
//
// When a worker that died may be started again: at once after a first death, then slower and slower
// while it keeps dying young, so that a crash loop costs nothing and a single crash costs no round.
// Pure: a history of lives in, a time out. The agent keeps one history per backend.
//
//   lived >= 60 s            the past is forgotten; this death counts as a first one
//   lived <  10 s            one step up: 0, 100 ms, 200 ms, ... 5 s
//   in between               the step stays as it is
#pragma once

#include <chrono>
#include <vector>

#include "daemon/base/event_loop.h"

namespace collwatch::supervise {

/// One worker's life; a spawn that failed is a life of length zero.
struct Life {
  base::TimePoint started;
  base::TimePoint ended;
};

inline constexpr std::chrono::seconds kYoungDeath{10};
inline constexpr std::chrono::seconds kForgetAfter{60};
inline constexpr std::chrono::milliseconds kFirstDelay{100};
inline constexpr std::chrono::milliseconds kLongestDelay{5000};

/// The earliest time for the next start, never before `now`. `history` is oldest first.
base::TimePoint next_start(const std::vector<Life>& history, base::TimePoint now);

/// Appends and keeps only as many lives as next_start() can still tell apart.
void remember(std::vector<Life>& history, Life life);

}  // namespace collwatch::supervise
