// SPDX-License-Identifier: Apache-2.0
//
// How long one edge's large payloads take, compared like with like: the recent best of the largest
// size, since a short pause of a busy host delays one exchange and a slow path delays them all.
// Pure; fed by the agent with every exchange.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>

namespace collwatch::agent {

class LargeTrips {
 public:
  static constexpr std::size_t kRecent = 3;

  void on_trip(std::uint32_t bytes, double seconds) {
    Trips& trips = by_size_[bytes];
    trips.recent[trips.seen % kRecent] = seconds;
    ++trips.seen;
    last_ = seconds;
    best_of_last_ = trips.seen == 1 ? seconds : trips.best;
    trips.best = trips.seen == 1 ? seconds : std::min(trips.best, seconds);
  }

  /// Seconds: none of the last three took less. Nothing before three.
  std::optional<double> recent() const {
    const Trips* trips = largest();
    if (trips == nullptr) return std::nullopt;
    return *std::min_element(trips->recent.begin(), trips->recent.end());
  }

  /// Was the latest one late, against the best of its size? A moment's doubt, not yet a finding.
  bool last_was_late() const;

  /// The shortest ever, of the same size.
  double best() const {
    const Trips* trips = largest();
    return trips == nullptr ? 0 : trips->best;
  }

 private:
  struct Trips {
    std::array<double, kRecent> recent{};
    std::size_t seen = 0;
    double best = 0;
  };
  const Trips* largest() const {
    for (auto it = by_size_.rbegin(); it != by_size_.rend(); ++it) {
      if (it->second.seen >= kRecent) return &it->second;
    }
    return nullptr;
  }
  double last_ = 0;
  double best_of_last_ = 0;                 ///< before it
  std::map<std::uint32_t, Trips> by_size_;  ///< as many as probes.edge.payloads has
};

/// By how much (seconds) an edge is late against `usual`: 0 unless it is so by a factor and by an
/// amount that a job would feel.
inline double lateness(double recent, double usual) {
  constexpr double kFactor = 4;
  constexpr double kFelt = 0.020;
  return recent > kFactor * usual && recent - usual > kFelt ? recent - usual : 0;
}

inline bool LargeTrips::last_was_late() const {
  return lateness(last_, best_of_last_) > 0;
}

}  // namespace collwatch::agent
