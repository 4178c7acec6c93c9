// SPDX-License-Identifier: Apache-2.0
//
// The handler sets a flag; every wait of the demo is short, so the flag is soon seen.
#include "daemon/demo/interrupt.h"

namespace collwatch::demo {
namespace {

volatile sig_atomic_t asked_to_end = 0;

void on_signal(int) {
  asked_to_end = 1;
}

}  // namespace

Interrupt::Interrupt() {
  asked_to_end = 0;
  for (std::size_t i = 0; i < kSignals.size(); ++i) {
    struct sigaction action {};
    action.sa_handler = kSignals[i] == SIGPIPE ? SIG_IGN : on_signal;
    sigaction(kSignals[i], &action, &before_[i]);
  }
}

Interrupt::~Interrupt() {
  for (std::size_t i = 0; i < kSignals.size(); ++i) sigaction(kSignals[i], &before_[i], nullptr);
}

bool Interrupt::asked() {
  return asked_to_end != 0;
}

}  // namespace collwatch::demo
