// SPDX-License-Identifier: Apache-2.0
//
// Exit facts as words.
#include "daemon/supervise/exit_fact.h"

#include <cstring>

namespace collwatch::supervise {
namespace {

std::string signal_name(int signal) {
  const char* name = sigabbrev_np(signal);  // unlike strsignal: thread-safe, not translated
  return name != nullptr ? std::string("SIG") + name : "signal " + std::to_string(signal);
}

struct Describe {
  std::string operator()(const Exited& fact) const {
    return "exited with code " + std::to_string(fact.code);
  }
  std::string operator()(const Signalled& fact) const {
    return "died of " + signal_name(fact.signal) + (fact.core ? ", core dumped" : "");
  }
  std::string operator()(const KilledByUs& fact) const {
    return "killed by us with " + signal_name(fact.signal);
  }
};

}  // namespace

std::string describe(const ExitFact& fact) {
  return std::visit(Describe{}, fact);
}

}  // namespace collwatch::supervise
