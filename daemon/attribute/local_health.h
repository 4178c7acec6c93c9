// SPDX-License-Identifier: Apache-2.0
//
// "Am I the sick one?" A score from 0 (well) to 8 that an agent keeps about itself: it stretches
// its deadlines and takes weight from its accusations (ObserverReport::local_health; explain()
// gives a word the weight 1/(1+H), none from 6 on). Fed once a round by the agent; pure state, time
// passed in as durations.
#pragma once

#include <chrono>

namespace collwatch::attribute {

inline constexpr int kWorstHealth = 8;
inline constexpr int kMutedHealth = 6;  ///< from here on an observer's failures count nothing

/// What one round told an agent about itself.
struct HealthSigns {
  std::chrono::milliseconds loop_late{0};    ///< worst lateness of the daemon's own timers
  std::chrono::milliseconds worker_late{0};  ///< worst lateness the worker reported
  bool missed_round = false;                 ///< a round of its own was skipped or not acknowledged
  bool alone_in_failing = false;  ///< explain.h: my edges fail, my peers agree without me
  int refuted = 0;                ///< accusations of mine that peers disproved
};

struct HealthLimits {
  std::chrono::milliseconds late{100};     ///< lateness that counts; a fifth of edge.timeout
  std::chrono::milliseconds freeze{2000};  ///< beyond this nothing of the past may be trusted: TILT
};

class LocalHealth {
 public:
  explicit LocalHealth(HealthLimits limits = {});

  /// Once a round. Each bad sign adds 1 (alone_in_failing 2), a round without any takes 1 away; a
  /// freeze (SIGSTOP, a suspended machine) jumps to 8. Returns the new score.
  int step(const HealthSigns& signs);
  /// A freeze noticed between rounds.
  void tilt() { score_ = kWorstHealth; }

  int score() const { return score_; }
  bool muted() const { return score_ >= kMutedHealth; }
  /// Factor for this agent's own deadlines: 1 + H/2.
  double stretch() const { return 1.0 + score_ / 2.0; }

 private:
  HealthLimits limits_;
  int score_ = 0;
};

/// The weight of an observer's failures at this score: 1/(1+H), 0 from kMutedHealth on.
double weight(int local_health);

}  // namespace collwatch::attribute
