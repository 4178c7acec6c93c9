// SPDX-License-Identifier: Apache-2.0
//
// What watchers have seen and how long it counts: a failure class stays active until ten minutes
// after its last match, with the lines that say so. Knows a finding that it was told already (a
// watcher that was killed tells its last second again), and that a job which was cancelled takes
// the echoes of its own end with it. Pure: times are passed in. Lives on the event loop's thread.
#pragma once

#include <deque>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "daemon/base/event_loop.h"
#include "exporters/snapshot.h"
#include "probes/wire/watch_message.h"

namespace collwatch::agent {

class Sightings {
 public:
  static constexpr std::chrono::minutes kActive{10};
  /// How far apart a cancellation and its echoes may be.
  static constexpr std::chrono::seconds kEchoes{30};
  /// A watcher that was replaced repeats its last second within this time. Later, the same words in
  /// the same place are another job's.
  static constexpr std::chrono::minutes kSameTelling{1};
  static constexpr std::size_t kMost = 64;
  static constexpr std::size_t kMostEvidence = 5;

  enum class News {
    none,   ///< told before, or nothing that this source can know
    again,  ///< of something that is active already
    first   ///< of something that was not
  };

  News add(const wire::Finding& finding, base::TimePoint now, exporters::WallTime wall);
  /// What counts now, the latest first.
  std::vector<exporters::ActiveFingerprint> active(base::TimePoint now);

 private:
  struct Sighting {
    exporters::ActiveFingerprint shown;
    bool is_echo = true;  ///< nothing but collateral
    base::TimePoint last{};
  };

  bool is_of_cancelled_job(const Sighting& sighting) const;

  std::vector<Sighting> sightings_;
  std::deque<std::pair<std::string, base::TimePoint>> told_;
};

/// "/var/log/train/0.log:40: text", as much of it as is known.
std::string evidence_of(const wire::Finding& finding);

}  // namespace collwatch::agent
