// SPDX-License-Identifier: Apache-2.0
//
// See local_health.h.
#include "daemon/attribute/local_health.h"

#include <algorithm>

namespace collwatch::attribute {

LocalHealth::LocalHealth(HealthLimits limits) : limits_(limits) {}

int LocalHealth::step(const HealthSigns& signs) {
  if (signs.loop_late >= limits_.freeze) {
    tilt();
    return score_;
  }
  int bad = std::max(0, signs.refuted);
  bad += signs.loop_late > limits_.late ? 1 : 0;
  bad += signs.worker_late > limits_.late ? 1 : 0;
  bad += signs.missed_round ? 1 : 0;
  bad += signs.alone_in_failing ? 2 : 0;
  score_ = std::clamp(bad > 0 ? score_ + bad : score_ - 1, 0, kWorstHealth);
  return score_;
}

double weight(int local_health) {
  if (local_health >= kMutedHealth) return 0;
  return 1.0 / (1.0 + std::max(0, local_health));
}

}  // namespace collwatch::attribute
