// SPDX-License-Identifier: Apache-2.0
//
// While an Interrupt lives, SIGINT, SIGTERM and SIGHUP only ask the demo to end (it cleans up, sums
// up and returns), and SIGPIPE is ignored. One at a time, on the main thread; earlier dispositions
// come back with the destructor.
#pragma once

#include <signal.h>

#include <array>

namespace collwatch::demo {

class Interrupt {
 public:
  Interrupt();
  ~Interrupt();
  Interrupt(const Interrupt&) = delete;
  Interrupt& operator=(const Interrupt&) = delete;

  static bool asked();

 private:
  static constexpr std::array<int, 4> kSignals = {SIGINT, SIGTERM, SIGHUP, SIGPIPE};
  std::array<struct sigaction, kSignals.size()> before_{};
};

}  // namespace collwatch::demo
