// SPDX-License-Identifier: Apache-2.0
//
// How a worker process ended, as a sum type: every reader has to say what it does with each case,
// and there is no magic -1. Plain data, used by supervise/ and by whoever records why a worker
// went.
#pragma once

#include <string>
#include <variant>

namespace collwatch::supervise {

struct Exited {
  int code = 0;
  bool operator==(const Exited&) const = default;
};
struct Signalled {
  int signal = 0;
  bool core = false;
  bool operator==(const Signalled&) const = default;
};
/// It died while our kill ladder was running; `signal` is the last rung it was given.
struct KilledByUs {
  int signal = 0;
  bool operator==(const KilledByUs&) const = default;
};
using ExitFact = std::variant<Exited, Signalled, KilledByUs>;

/// For people: "exited with code 3", "died of SIGSEGV, core dumped", "killed by us with SIGKILL".
std::string describe(const ExitFact& fact);

}  // namespace collwatch::supervise
