// SPDX-License-Identifier: Apache-2.0
//
// The restart ladder as a fold over the lives.
#include "daemon/supervise/restart_policy.h"

#include <algorithm>

namespace collwatch::supervise {
namespace {

/// Enough for every step, with room for lives that leave the step as it is.
constexpr std::size_t kKeptLives = 32;

std::chrono::milliseconds delay_of(int step) {
  std::chrono::milliseconds delay{0};
  for (int i = 0; i < step && delay < kLongestDelay; ++i) {
    delay = std::min(i == 0 ? kFirstDelay : 2 * delay, kLongestDelay);
  }
  return delay;
}

}  // namespace

base::TimePoint next_start(const std::vector<Life>& history, base::TimePoint now) {
  if (history.empty()) return now;
  int step = 0;
  bool first = true;
  for (const Life& life : history) {
    const auto lived = life.ended - life.started;
    if (lived >= kForgetAfter) {
      step = 0;
    } else if (!first && lived < kYoungDeath) {
      ++step;
    }
    first = false;
  }
  return std::max(now, history.back().ended + delay_of(step));
}

void remember(std::vector<Life>& history, Life life) {
  history.push_back(life);
  if (history.size() > kKeptLives) history.erase(history.begin());
}

}  // namespace collwatch::supervise
