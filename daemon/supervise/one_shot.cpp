// SPDX-License-Identifier: Apache-2.0
//
// Limits are set from outside right after the start: what the child has by then is its own code.
#include "daemon/supervise/one_shot.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/resource.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <csignal>

#include "daemon/supervise/process.h"

namespace collwatch::supervise {
namespace {

using Clock = std::chrono::steady_clock;

constexpr std::chrono::milliseconds kDeathTakes{2000};
constexpr int kNice = 10;

void limit(pid_t pid, const OneShotOptions& options) {
  const auto set = [pid](__rlimit_resource what, rlim_t value) {
    const rlimit both{value, value};
    prlimit(pid, what, &both, nullptr);
  };
  if (options.most_memory > 0) set(RLIMIT_AS, options.most_memory);
  const auto seconds = std::chrono::ceil<std::chrono::seconds>(options.deadline).count();
  set(RLIMIT_CPU, static_cast<rlim_t>(seconds + 1));
  set(RLIMIT_CORE, 0);
  setpriority(PRIO_PROCESS, static_cast<id_t>(pid), kNice);
}

/// What is there now, up to the limit. False at the end.
bool drain(int fd, OneShotResult& result, std::size_t most) {
  std::array<char, 16384> buffer{};
  for (;;) {
    const ssize_t got = read(fd, buffer.data(), buffer.size());
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return errno == EAGAIN;
    if (got == 0) return false;
    result.output.append(buffer.data(), static_cast<std::size_t>(got));
    if (result.output.size() <= most) continue;
    result.output.resize(most);
    result.is_too_much = true;
    return false;
  }
}

/// Until it has exited, or must be killed (then the reason stands in the result).
void watch(const Process& child, int output_fd, const OneShotOptions& options,
           OneShotResult& result) {
  const auto deadline = Clock::now() + options.deadline;
  bool is_open = true;
  while (!child.has_exited()) {
    const auto left = std::chrono::ceil<std::chrono::milliseconds>(deadline - Clock::now());
    if (left.count() <= 0) {
      result.is_late = true;
      return;
    }
    std::array<pollfd, 3> waits = {{{child.pid_fd(), POLLIN, 0},
                                    {options.stop_fd, POLLIN, 0},
                                    {is_open ? output_fd : -1, POLLIN, 0}}};
    poll(waits.data(), waits.size(), static_cast<int>(left.count()));
    // A process held by a debugger is readable for ever without having exited.
    if (waits[0].revents != 0 && !child.has_exited()) poll(nullptr, 0, 5);
    if (waits[1].revents != 0) {
      result.is_stopped = true;
      return;
    }
    if (waits[2].revents != 0) is_open = drain(output_fd, result, options.most_output);
    if (result.is_too_much) return;
  }
  if (is_open) drain(output_fd, result, options.most_output);
}

}  // namespace

model::Result<OneShotResult> run_once(const OneShotOptions& options) {
  std::array<int, 2> pipe_fds{};
  if (pipe2(pipe_fds.data(), O_CLOEXEC) != 0) return model::fail(model::from_errno("pipe", errno));
  const UniqueFd output(pipe_fds[0]);
  UniqueFd child_output(pipe_fds[1]);
  fcntl(output.get(), F_SETFL, O_NONBLOCK);

  ProcessOptions process;
  process.executable = options.executable;
  process.arguments = options.arguments;
  process.environment = options.environment;
  process.input_fd = options.input_fd;
  process.output_fd = child_output.get();
  auto child = Process::spawn(process);
  if (!child) return model::fail(child.error());
  child_output.reset();
  limit(child->pid(), options);

  OneShotResult result;
  watch(*child, output.get(), options, result);
  const bool is_killed = !child->has_exited();
  if (is_killed) child->signal_group(SIGKILL);
  const auto exit = child->reap_within(kDeathTakes);
  if (!exit) {
    return model::fail(model::ErrorCode::timeout, options.executable + " would not die");
  }
  result.exit = is_killed ? ExitFact(KilledByUs{SIGKILL}) : *exit;
  return result;
}

}  // namespace collwatch::supervise
