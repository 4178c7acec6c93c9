// SPDX-License-Identifier: Apache-2.0
//
// posix_spawn, one pipe, one pidfd. The child is waited for by its pidfd, never by any-child waits,
// so that the agents which the demo also parents stay out of it.
#include "daemon/demo/command.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstdlib>
#include <cstring>

namespace collwatch::demo {
namespace {

using Clock = std::chrono::steady_clock;
using model::ErrorCode;
using model::Result;

constexpr std::size_t kMaxOutput = 64 * 1024;

std::string joined(const std::vector<std::string>& argv) {
  std::string text;
  for (const std::string& word : argv) text += (text.empty() ? "" : " ") + word;
  return text;
}

Result<pid_t> spawn(const std::vector<std::string>& argv, int output) {
  posix_spawn_file_actions_t actions;
  posix_spawnattr_t attributes;
  posix_spawn_file_actions_init(&actions);
  posix_spawnattr_init(&attributes);
  posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
  posix_spawn_file_actions_adddup2(&actions, output, STDOUT_FILENO);
  posix_spawn_file_actions_adddup2(&actions, output, STDERR_FILENO);
  // A process group of its own: Ctrl-C is for the demo, which then needs its tools to clean up.
  sigset_t none, defaults;
  sigemptyset(&none);
  sigemptyset(&defaults);
  sigaddset(&defaults, SIGPIPE);
  posix_spawnattr_setsigmask(&attributes, &none);
  posix_spawnattr_setsigdefault(&attributes, &defaults);
  posix_spawnattr_setpgroup(&attributes, 0);
  posix_spawnattr_setflags(&attributes,
                           POSIX_SPAWN_SETPGROUP | POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF);
  std::vector<char*> arguments;
  arguments.reserve(argv.size() + 1);
  for (const std::string& word : argv) arguments.push_back(const_cast<char*>(word.c_str()));
  arguments.push_back(nullptr);
  pid_t pid = -1;
  const int rc = posix_spawn(&pid, arguments[0], &actions, &attributes, arguments.data(), environ);
  posix_spawnattr_destroy(&attributes);
  posix_spawn_file_actions_destroy(&actions);
  if (rc != 0) return model::fail(model::from_errno("start " + argv[0], rc));
  return pid;
}

/// Collects output until the child ended. False: the deadline passed first.
bool collect(int pipe_fd, int pidfd, Clock::time_point until, std::string& output) {
  std::array<pollfd, 2> fds = {{{pidfd, POLLIN, 0}, {pipe_fd, POLLIN, 0}}};
  while (true) {
    const auto left = std::chrono::ceil<std::chrono::milliseconds>(until - Clock::now()).count();
    if (left <= 0) return false;
    if (poll(fds.data(), fds.size(), static_cast<int>(left)) < 0 && errno != EINTR) return false;
    std::array<char, 4096> buffer;
    ssize_t n = 0;
    while (fds[1].fd >= 0 && (n = read(pipe_fd, buffer.data(), buffer.size())) > 0) {
      if (output.size() < kMaxOutput) output.append(buffer.data(), static_cast<std::size_t>(n));
    }
    if (n == 0) fds[1].fd = -1;  // closed: poll on the end of the process only
    if ((fds[0].revents & POLLIN) != 0) return true;
  }
}

}  // namespace

std::string find_program(const std::string& program) {
  const char* path = std::getenv("PATH");
  const std::string all =
      std::string(path == nullptr ? "/usr/bin:/bin" : path) + ":/usr/sbin:/sbin";
  for (std::size_t at = 0; at <= all.size();) {
    const std::size_t end = std::min(all.find(':', at), all.size());
    const std::string candidate = all.substr(at, end - at) + "/" + program;
    if (candidate[0] == '/' && access(candidate.c_str(), X_OK) == 0) return candidate;
    at = end + 1;
  }
  return "";
}

Result<std::string> run_command(const std::vector<std::string>& argv,
                                std::chrono::milliseconds deadline) {
  std::vector<std::string> command = argv;
  if (command[0][0] != '/') command[0] = find_program(argv[0]);
  if (command[0].empty()) {
    return model::fail(ErrorCode::not_found, "there is no program '" + argv[0] + "' here");
  }
  int fds[2];
  if (pipe2(fds, O_CLOEXEC) != 0) return model::fail(model::from_errno("pipe2", errno));
  fcntl(fds[0], F_SETFL, O_NONBLOCK);
  const auto until = Clock::now() + deadline;
  const auto pid = spawn(command, fds[1]);
  close(fds[1]);
  if (!pid) {
    close(fds[0]);
    return model::fail(pid.error());
  }
  const int pidfd = static_cast<int>(syscall(SYS_pidfd_open, *pid, 0));
  std::string output;
  const bool ended = collect(fds[0], pidfd, until, output);
  if (!ended) kill(-*pid, SIGKILL);
  int status = 0;
  while (waitpid(*pid, &status, 0) < 0 && errno == EINTR) {
  }
  close(pidfd);
  close(fds[0]);
  while (!output.empty() && output.back() == '\n') output.pop_back();
  if (!ended) return model::fail(ErrorCode::timeout, joined(argv) + ": no end in time, killed");
  if (WIFEXITED(status) && WEXITSTATUS(status) == 0) return output;
  const std::string how = WIFEXITED(status) ? "exit " + std::to_string(WEXITSTATUS(status))
                                            : "signal " + std::to_string(WTERMSIG(status));
  return model::fail(ErrorCode::io, joined(argv) + ": " + output + " (" + how + ")");
}

}  // namespace collwatch::demo
