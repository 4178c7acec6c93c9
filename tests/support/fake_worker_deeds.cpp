// SPDX-License-Identifier: Apache-2.0
//
// See fake_worker_deeds.h.
#include "tests/support/fake_worker_deeds.h"

#include <dirent.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>

#include "probes/wire/channel.h"
#include "probes/wire/message.h"

extern char** environ;

namespace fake {

namespace {
constexpr int kMaxChildren = 64;
constexpr unsigned kOrphanSeconds = 60;

void child_body() {
  alarm(kOrphanSeconds);
  hang();
}
}  // namespace

void usage(const std::string& what) {
  dprintf(2, "fake_worker: cannot do '%s'\n", what.c_str());
  _exit(64);
}

void write_all(const std::string& bytes) {
  for (std::size_t done = 0; done < bytes.size();) {
    const ssize_t n = write(1, bytes.data() + done, bytes.size() - done);
    if (n <= 0) return;
    done += static_cast<std::size_t>(n);
  }
}

void sleep_ms(long ms) {
  timespec left{ms / 1000, ms % 1000 * 1'000'000};
  while (nanosleep(&left, &left) != 0) continue;
}

void flood_stdout(const std::string& amount) {
  const std::string chunk(4096, 'f');
  if (amount == "forever") {
    while (true) write_all(chunk);
  }
  for (long left = std::atol(amount.c_str()); left > 0; left -= 4096) {
    write_all(chunk.substr(0, static_cast<std::size_t>(std::min(left, 4096L))));
  }
}

void hang() {
  while (true) pause();
}

void fork_children(int wanted) {
  for (int i = 0; i < std::min(wanted, kMaxChildren); ++i) {
    const pid_t child = fork();
    if (child == 0) child_body();
    write_all("child " + std::to_string(child) + "\n");
  }
}

/// Leaves the group and keeps the channel and the output open: out of the daemon's reach.
void escape_child() {
  const pid_t child = fork();
  if (child == 0) {
    setsid();
    child_body();
  }
  write_all("child " + std::to_string(child) + "\n");
}

/// Joins the group of a child of its own: its old group is then empty.
void leave_group() {
  const pid_t child = fork();
  if (child == 0) child_body();
  if (setpgid(child, child) != 0 || setpgid(0, child) != 0) usage("leave_group");
  write_all("child " + std::to_string(child) + "\n");
}

/// A debugger outside the group holds this process: killed, it stays a zombie that only the
/// debugger may reap, as close as one gets to a child that is stuck in a driver.
void traced() {
  std::array<int, 2> ready{};
  if (pipe(ready.data()) != 0) usage("traced");
  const pid_t tracer = fork();
  if (tracer == 0) {
    setsid();
    prctl(PR_SET_PDEATHSIG, 0);
    char go = 0;
    if (read(ready[0], &go, 1) != 1) _exit(1);  // until PR_SET_PTRACER names us
    const bool attached = ptrace(PTRACE_SEIZE, getppid(), nullptr, nullptr) == 0;
    write_all(attached ? "tracer " + std::to_string(getpid()) + "\n" : "no ptrace\n");
    say_hello();
    child_body();
  }
  prctl(PR_SET_PTRACER, tracer, 0, 0, 0);
  if (write(ready[1], "g", 1) != 1) usage("traced");
}

void die_of(int signal) {
  std::signal(signal, SIG_DFL);  // a sanitizer may have taken it
  raise(signal);
  _exit(70);
}

void show(const std::string& what) {
  if (what == "environment") {
    for (char** entry = environ; *entry != nullptr; ++entry) write_all(std::string(*entry) + "\n");
  } else if (what == "descriptors") {
    DIR* folder = opendir("/proc/self/fd");
    while (const dirent* entry = readdir(folder)) {
      std::array<char, 256> target{};
      const std::string link = std::string("/proc/self/fd/") + entry->d_name;
      if (entry->d_name[0] == '.' || std::atoi(entry->d_name) == dirfd(folder)) continue;
      if (readlink(link.c_str(), target.data(), target.size() - 1) < 0) continue;
      write_all(std::string("fd ") + entry->d_name + " " + target.data() + "\n");
    }
    closedir(folder);
  } else if (what == "signals") {
    FILE* status = fopen("/proc/self/status", "re");
    std::array<char, 256> line{};
    while (fgets(line.data(), line.size(), status) != nullptr) {
      if (strncmp(line.data(), "Sig", 3) == 0) write_all(line.data());
    }
    fclose(status);
  } else if (what == "group") {
    write_all(getpgrp() == getpid() ? "leads its group\n" : "follows\n");
  } else {
    usage("show " + what);
  }
}

/// As many as the kernel gives, each asking for more; the cap is what saves the machine.
void fork_bomb() {
  int made = 0;
  while (made < kMaxChildren) {
    const pid_t child = fork();
    if (child == 0) child_body();
    if (child < 0) break;
    ++made;
  }
  write_all("bomb of " + std::to_string(made) + "\n");
}

}  // namespace fake
