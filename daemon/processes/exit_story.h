// SPDX-License-Identifier: Apache-2.0
//
// Ranks that end into what is worth telling: the first of a job here that failed by itself. Those
// that follow within a minute are its echo or are put away by the launcher; whoever is asked to end
// (SIGTERM) accuses nobody. Pure: times are passed in.
#pragma once

#include <chrono>
#include <map>
#include <string>
#include <vector>

#include "daemon/processes/exits.h"
#include "daemon/processes/report.h"

namespace collwatch::processes {

class ExitStory {
 public:
  static constexpr std::chrono::seconds kEchoes{60};

  /// `ended` since the last call, in no order.
  std::vector<Finding> add(const std::vector<Exit>& ended, TimePoint now);

 private:
  std::map<std::string, TimePoint> begun_;  ///< by job: its first end that was no success
};

}  // namespace collwatch::processes
