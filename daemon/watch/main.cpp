// SPDX-License-Identifier: Apache-2.0
//
// collwatch-watch: reads training logs and the kernel's log for collwatchd, which starts it and
// kills it when it no longer answers (a network file system may hang for ever; the daemon may not).
// This file is the shell around the loop: dies with its parent, yields to whatever trains here.
#include <fcntl.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#include <csignal>
#include <cstdio>

#include "daemon/base/event_loop.h"
#include "daemon/watch/watcher.h"
#include "probes/wire/message.h"

namespace {

using namespace collwatch;

constexpr int kYielding = 10;

bool channel_is_a_socket() {
  int type = 0;
  socklen_t length = sizeof(type);
  return ::getsockopt(wire::kWorkerFd, SOL_SOCKET, SO_TYPE, &type, &length) == 0 &&
         type == SOCK_SEQPACKET;
}

std::string host_name() {
  char name[256] = {};
  return ::gethostname(name, sizeof name - 1) == 0 ? name : "localhost";
}

int fail(const std::string& text) {
  std::fprintf(stderr, "collwatch-watch: %s\n", text.c_str());
  return 1;
}

}  // namespace

int main() {
  if (!channel_is_a_socket()) {
    std::fputs("collwatch-watch: no channel on descriptor 3; collwatchd starts this program\n",
               stderr);
    return 2;
  }
  ::fcntl(wire::kWorkerFd, F_SETFD, FD_CLOEXEC);
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  std::signal(SIGPIPE, SIG_IGN);
  ::setpriority(PRIO_PROCESS, 0, kYielding);
  auto loop = base::EventLoop::create();
  if (!loop) return fail(loop.error().text);
  watch::Watcher watcher(**loop, wire::Channel(wire::kWorkerFd), host_name());
  if (auto started = watcher.start(); !started) return fail(started.error().text);
  const auto ran = (*loop)->run();
  return ran ? 0 : fail(ran.error().text);
}
