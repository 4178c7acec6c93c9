// SPDX-License-Identifier: Apache-2.0
//
// A child that does nothing until it is killed: a real process for tests that dress one up.
#pragma once

#include <sys/types.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>

#include "tests/support/catch.h"

namespace collwatch::test {

class PausedChild {
 public:
  PausedChild() : pid_(::fork()) {
    if (pid_ == 0) {
      ::pause();
      ::_exit(0);
    }
    REQUIRE(pid_ > 0);
  }
  ~PausedChild() { end(); }
  PausedChild(const PausedChild&) = delete;
  PausedChild& operator=(const PausedChild&) = delete;

  pid_t pid() const { return pid_; }
  /// Killed and reaped.
  void end() {
    if (is_over_) return;
    is_over_ = true;
    ::kill(pid_, SIGKILL);
    ::waitpid(pid_, nullptr, 0);
  }

 private:
  pid_t pid_;
  bool is_over_ = false;
};

}  // namespace collwatch::test
