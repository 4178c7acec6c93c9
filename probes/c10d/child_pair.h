// SPDX-License-Identifier: Apache-2.0
//
// Two disposable processes, rank 0 and rank 1, that try one thing with a library that may abort,
// crash or hang. They are forked from the caller, which must not have started threads; each says
// how it ended and then waits to be killed, so that neither sees the other leave. Knows nothing of
// libtorch.
#pragma once

#include <chrono>
#include <functional>
#include <string>

#include "probes/wire/c10d_message.h"

namespace collwatch::c10d_probe {

/// What one rank says, or what is said of both.
struct Ending {
  wire::C10dEnd end = wire::C10dEnd::ok;
  std::string text;  ///< the library's own words, or what the values were
};

/// What a rank may tell the other one while it runs (a port); both block for at most the deadline.
struct Between {
  std::function<void(const std::string&)> tell;
  std::function<std::string()> hear;
};

using RankBody = std::function<Ending(int rank, const Between& between)>;

/// Runs `body` in both children. The worst ending speaks for the pair, a crash before all; what a
/// rank says that lost its peer is collateral. Both are gone on return.
Ending run_pair(const RankBody& body, std::chrono::milliseconds deadline);

/// One child alone.
Ending run_alone(const std::function<Ending()>& body, std::chrono::milliseconds deadline);

}  // namespace collwatch::c10d_probe
