// SPDX-License-Identifier: Apache-2.0
//
// The round clock: steady clock plus an offset that all agents pull towards their common median, so
// that rounds line up without trusting anybody's wall clock (measured: with wall-clock rounds a
// 0.6 s skew fails every exchange). The wall clock only seeds it. Pure; time is passed in.
//
// Big differences are corrected in whole rounds (no phase jump, receivers are always posted); the
// rest is slewed by at most 50 ms a round, so that an answerer's patience is never exceeded. Before
// the first edge is open, it may step freely.
#pragma once

#include <chrono>
#include <cstdint>
#include <map>
#include <string>

namespace collwatch::peer {

class RoundClock {
 public:
  using Steady = std::chrono::steady_clock::time_point;
  using Millis = std::chrono::milliseconds;

  RoundClock(Millis interval, Steady now, std::chrono::system_clock::time_point wall);

  /// This agent's round time in ms at `now`.
  std::int64_t round_ms(Steady now) const;
  std::int64_t round(Steady now) const;       ///< round_ms / interval
  Steady next_round_start(Steady now) const;  ///< the steady time at which round(now) + 1 begins

  /// One-way sample from a meet reply: the peer's round_ms, and the request's round trip.
  void sample(const std::string& peer, std::int64_t peer_round_ms, Steady now, Millis round_trip);
  /// NTP sample from a witness: offset of the peer's clock against ours, and the delay it hides in.
  void sample_offset(const std::string& peer, double offset_ms, double delay_ms, Steady now);
  void forget(const std::string& peer);

  /// Once a round: move towards the median of {0 (self), peers' recent offsets}. `stepping` = no
  /// edge is open yet. Samples older than 10 rounds do not count.
  void adjust(Steady now, bool stepping);

  /// The median offset at the last adjust(), for the metric.
  double median_offset_ms() const { return median_ms_; }

 private:
  struct Sample {
    double offset_ms = 0;
    double delay_ms = 0;
    Steady at;
  };
  Millis interval_;
  std::int64_t offset_ms_ = 0;  ///< round_ms = steady_ms + offset_ms_
  double median_ms_ = 0;
  std::map<std::string, Sample> samples_;
};

}  // namespace collwatch::peer
