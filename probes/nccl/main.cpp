// SPDX-License-Identifier: Apache-2.0
//
// collwatch-probe-nccl: runs NCCL on this node's GPUs for collwatchd, once, and is gone. Links no
// NCCL and no CUDA: it looks for them when it runs. Signals keep their meaning: SIGTERM ends it at
// once, for the daemon wants nothing of it then.
#include <fcntl.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include <csignal>
#include <cstdio>
#include <cstring>

#include "probes/nccl/guard.h"
#include "probes/nccl/session.h"
#include "probes/wire/channel.h"

namespace {

using namespace collwatch;

bool channel_is_a_socket() {
  int type = 0;
  socklen_t length = sizeof(type);
  return ::getsockopt(wire::kWorkerFd, SOL_SOCKET, SO_TYPE, &type, &length) == 0 &&
         type == SOCK_SEQPACKET;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc == 2 && std::strcmp(argv[1], "--version") == 0) {
    std::printf("collwatch-probe-nccl %s\n", COLLWATCH_VERSION);
    return 0;
  }
  if (!channel_is_a_socket()) {
    std::fputs("collwatch-probe-nccl: no channel on descriptor 3; collwatchd starts this program\n",
               stderr);
    return nccl_probe::kExitBadRequest;
  }
  ::fcntl(wire::kWorkerFd, F_SETFD, FD_CLOEXEC);
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  std::signal(SIGPIPE, SIG_IGN);
  static const wire::Channel channel(wire::kWorkerFd);
  static nccl_probe::Session session(channel);
  const nccl_probe::ExitCode code = session.run();
  // Nobody's destructors: libraries may have threads in calls that never end.
  ::_exit(code);
}
