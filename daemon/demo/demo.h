// SPDX-License-Identifier: Apache-2.0
//
// The demo's one door: real collwatchd processes on this host, faults injected by plan, a live
// table, one sentence at the end. `collwatch demo` parses its flags into Options and calls run();
// the main thread of the CLI is the only caller.
#pragma once

#include <chrono>
#include <string>
#include <vector>

namespace collwatch::demo {

struct Options {
  int nodes = 4;
  std::vector<std::string> faults;  ///< SPECs as given; empty: the demo's own default
  std::chrono::milliseconds duration{60000};
  bool json = false;
  bool loopback = false;                 ///< without namespaces even as root
  std::string network = "10.83.0.0/24";  ///< of the namespaces: an IPv4 /24 or an IPv6 /64
  int base_port = 19781;  ///< loopback status port of n0; n1 has base + 2; peer port = status + 1
  std::string bin_dir;    ///< where collwatchd and the workers lie; empty: beside this executable
};

/// Runs the demo to its end. Returns the exit code of `collwatch demo`: 0; 2 a fault needs
/// namespaces; 3 an expected verdict did not come or an innocent was paged.
int run(const Options& options);

}  // namespace collwatch::demo
