// SPDX-License-Identifier: Apache-2.0
//
// collwatch-probe-gloo: the process that talks Gloo for collwatchd. This file is the shell around
// the control thread: dies with its parent, survives SIGPIPE (Gloo writes without MSG_NOSIGNAL),
// turns SIGTERM into a request, and, when Gloo throws in a thread of its own (a peer that sends
// more than was posted does it), leaves a last packet before the abort.
#include <fcntl.h>
#include <malloc.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <exception>
#include <string>

#include "probes/gloo/build_id.h"
#include "probes/gloo/control.h"
#include "probes/gloo/reporter.h"

namespace {

using namespace collwatch;

/// Never destroyed: the terminate handler may come at any time, from any thread.
const wire::Channel& daemon_channel() {
  static const auto* channel = new wire::Channel(wire::kWorkerFd);
  return *channel;
}

std::string current_exception_text() {
  try {
    if (std::current_exception()) std::rethrow_exception(std::current_exception());
  } catch (const std::exception& error) {
    return error.what();
  } catch (...) {
    return "an exception without words";
  }
  return "terminate without an exception";
}

[[noreturn]] void on_terminate() {
  gloo_probe::Reporter(daemon_channel())
      .send(wire::WorkerError{"terminate: " + current_exception_text()});
  std::abort();
}

/// SIGTERM and SIGINT as a descriptor, blocked in every thread that is started later.
int stop_signals_fd() {
  sigset_t stop;
  sigemptyset(&stop);
  sigaddset(&stop, SIGTERM);
  sigaddset(&stop, SIGINT);
  if (::pthread_sigmask(SIG_BLOCK, &stop, nullptr) != 0) return -1;
  return ::signalfd(-1, &stop, SFD_CLOEXEC | SFD_NONBLOCK);
}

bool channel_is_a_socket() {
  int type = 0;
  socklen_t length = sizeof(type);
  return ::getsockopt(wire::kWorkerFd, SOL_SOCKET, SO_TYPE, &type, &length) == 0 &&
         type == SOCK_SEQPACKET;
}

int serve() {
  if (!channel_is_a_socket()) {
    std::fputs("collwatch-probe-gloo: no channel on descriptor 3; collwatchd starts this program\n",
               stderr);
    return gloo_probe::kExitBadRequest;
  }
  ::fcntl(wire::kWorkerFd, F_SETFD, FD_CLOEXEC);
  // If the daemon died before this line, its end of the channel is closed and control leaves at
  // once.
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  std::signal(SIGPIPE, SIG_IGN);
  std::set_terminate(on_terminate);
  // One thread an edge, none of them in a hurry to allocate; and what a large collective needed
  // goes back to the kernel (glibc would raise the threshold by itself and keep it).
  ::mallopt(M_ARENA_MAX, 2);
  ::mallopt(M_MMAP_THRESHOLD, 128 * 1024);

  const int stop_fd = stop_signals_fd();
  if (stop_fd < 0) return gloo_probe::kExitBug;
  gloo_probe::Control control(daemon_channel(), stop_fd);
  return control.run();
}

}  // namespace

int main(int argc, char** argv) {
  if (argc == 2 && std::strcmp(argv[1], "--version") == 0) {
    std::printf("collwatch-probe-gloo %s (%s)\n", COLLWATCH_VERSION,
                gloo_probe::build_id().c_str());
    return 0;
  }
  try {
    return serve();
  } catch (const std::exception& error) {
    gloo_probe::Reporter(daemon_channel())
        .send(wire::WorkerError{std::string("bug: ") + error.what()});
    // Threads may be running: no destructors, no second exception.
    ::_exit(gloo_probe::kExitBug);
  }
}
