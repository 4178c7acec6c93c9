// SPDX-License-Identifier: Apache-2.0
//
// Threads that are not the daemon's loop leave its signals alone: hold one of these while such a
// thread is started, since threads inherit the mask. Used by the event log and the HTTP server.
#pragma once

#include <pthread.h>
#include <signal.h>

namespace collwatch::exporters {

class SignalsBlocked {
 public:
  SignalsBlocked() {
    sigset_t all;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before_);
  }
  ~SignalsBlocked() { pthread_sigmask(SIG_SETMASK, &before_, nullptr); }
  SignalsBlocked(const SignalsBlocked&) = delete;
  SignalsBlocked& operator=(const SignalsBlocked&) = delete;

 private:
  sigset_t before_{};
};

}  // namespace collwatch::exporters
