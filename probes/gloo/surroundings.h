// SPDX-License-Identifier: Apache-2.0
//
// What every edge and the group need from the worker around them. Owned by the control thread,
// outlives them all.
#pragma once

#include <chrono>
#include <string>

#include "probes/gloo/devices.h"
#include "probes/gloo/reporter.h"

namespace collwatch::gloo_probe {

struct Surroundings {
  const Reporter& reporter;
  Devices& devices;
  std::string node;   ///< our own name
  std::string build;  ///< build_id()
};

// Meetings collect for 300 ms; the daemon gives up on one long before this and supersedes.
inline constexpr std::chrono::milliseconds kMeetingGrace{2000};

}  // namespace collwatch::gloo_probe
