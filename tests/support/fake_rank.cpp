// SPDX-License-Identifier: Apache-2.0
//
// A rank without a training library: `fake_rank write|read|wait`. It writes to descriptor 20 for
// ever, reads it away, or waits. Its rank is in its environment, as a launcher would have put it.
// It ends with its parent, and after a minute at the latest.
#include <signal.h>
#include <sys/prctl.h>
#include <unistd.h>

#include <array>
#include <string>

constexpr int kFd = 20;  ///< one that nothing else has by chance

int main(int argc, char** argv) {
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  alarm(60);
  const std::string deed = argc > 1 ? argv[1] : "wait";
  std::array<char, 65536> bytes{};
  while (deed == "write" && ::write(kFd, bytes.data(), bytes.size()) > 0) usleep(1000);
  while (deed == "read" && ::read(kFd, bytes.data(), bytes.size()) > 0) {
  }
  for (;;) pause();
}
