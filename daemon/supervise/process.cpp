// SPDX-License-Identifier: Apache-2.0
//
// posix_spawn, pidfd, waitid. The pidfd calls go through syscall(): Debian 12's <sys/pidfd.h> has
// no C++ linkage guards.
#include "daemon/supervise/process.h"

#include <fcntl.h>
#include <poll.h>
#include <spawn.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <csignal>
#include <utility>

#include "probes/wire/message.h"

namespace collwatch::supervise {
namespace {

using Clock = std::chrono::steady_clock;

constexpr int kFirstFreeFd = wire::kWorkerFd + 1;
// P_PIDFD: glibc has it as an enumerator since 2.36, Linux since 5.4.
constexpr auto kByPidFd = static_cast<idtype_t>(3);

/// posix_spawn's two option objects, released together.
struct SpawnPlan {
  posix_spawn_file_actions_t actions{};
  posix_spawnattr_t attributes{};
  SpawnPlan() {
    posix_spawn_file_actions_init(&actions);
    posix_spawnattr_init(&attributes);
  }
  ~SpawnPlan() {
    posix_spawn_file_actions_destroy(&actions);
    posix_spawnattr_destroy(&attributes);
  }
  SpawnPlan(const SpawnPlan&) = delete;
  SpawnPlan& operator=(const SpawnPlan&) = delete;
};

int fill(SpawnPlan& plan, int channel_fd, int output_fd, int input_fd) {
  int error = input_fd < 0
                  ? posix_spawn_file_actions_addopen(&plan.actions, 0, "/dev/null", O_RDONLY, 0)
                  : posix_spawn_file_actions_adddup2(&plan.actions, input_fd, 0);
  const auto also = [&error](int result) {
    if (error == 0) error = result;
  };
  also(posix_spawn_file_actions_adddup2(&plan.actions, output_fd, 1));
  also(posix_spawn_file_actions_adddup2(&plan.actions, output_fd, 2));
  if (channel_fd >= 0)
    also(posix_spawn_file_actions_adddup2(&plan.actions, channel_fd, wire::kWorkerFd));
  // Everything of ours is CLOEXEC; what the daemon itself inherited may not be.
  also(posix_spawn_file_actions_addclosefrom_np(&plan.actions,
                                                channel_fd >= 0 ? kFirstFreeFd : wire::kWorkerFd));

  sigset_t none;
  sigset_t all;
  sigemptyset(&none);
  sigfillset(&all);
  also(posix_spawnattr_setflags(
      &plan.attributes, POSIX_SPAWN_SETPGROUP | POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF));
  also(posix_spawnattr_setpgroup(&plan.attributes, 0));
  also(posix_spawnattr_setsigmask(&plan.attributes, &none));
  also(posix_spawnattr_setsigdefault(&plan.attributes, &all));
  return error;
}

std::vector<char*> pointers(const std::vector<std::string>& strings) {
  std::vector<char*> result;
  for (const std::string& string : strings) result.push_back(const_cast<char*>(string.c_str()));
  result.push_back(nullptr);
  return result;
}

/// The same open file at a number that the child's own 0 to 3 cannot overwrite. `holder` keeps a
/// duplicate alive; needed only where the daemon was started without its standard descriptors.
int above_reserved(int fd, UniqueFd& holder) {
  if (fd >= kFirstFreeFd || fd < 0) return fd;
  holder = UniqueFd(fcntl(fd, F_DUPFD_CLOEXEC, kFirstFreeFd));
  return holder.get();
}

model::Error spawn_error(const std::string& executable, int sys_errno) {
  model::Error error = model::from_errno("start worker '" + executable + "'", sys_errno);
  if (sys_errno == ENOTDIR || sys_errno == ELOOP) error.code = model::ErrorCode::not_found;
  return error;
}

/// An inherited "ignore SIGCHLD" makes the kernel reap our workers unseen: no exit fact, and their
/// process ids free for others while we still signal them.
void insist_on_zombies() {
  struct sigaction action {};
  if (sigaction(SIGCHLD, nullptr, &action) != 0) return;
  if (action.sa_handler != SIG_IGN && (action.sa_flags & SA_NOCLDWAIT) == 0) return;
  action = {};
  action.sa_handler = SIG_DFL;
  sigaction(SIGCHLD, &action, nullptr);
}

/// A child that we cannot watch (no descriptor left) must not live.
void discard(pid_t pid) {
  ::kill(-pid, SIGKILL);
  for (int i = 0; i < 40; ++i) {
    siginfo_t info{};
    if (waitid(P_PID, static_cast<id_t>(pid), &info, WEXITED | WNOHANG) != 0) return;
    if (info.si_pid == pid) return;
    poll(nullptr, 0, 5);
  }
}

}  // namespace

model::Result<Process> Process::spawn(const ProcessOptions& options) {
  if (options.executable.empty() || options.executable[0] != '/') {
    return model::fail(model::ErrorCode::invalid_argument,
                       "start worker '" + options.executable + "': not an absolute path");
  }
  UniqueFd channel_holder;
  UniqueFd output_holder;
  UniqueFd input_holder;
  const int channel_fd = above_reserved(options.channel_fd, channel_holder);
  const int output_fd = above_reserved(options.output_fd, output_holder);
  const int input_fd = above_reserved(options.input_fd, input_holder);
  const bool no_channel = channel_fd < 0 && options.channel_fd >= 0;
  const bool no_input = input_fd < 0 && options.input_fd >= 0;
  if (no_channel || no_input || output_fd < 0)
    return model::fail(spawn_error(options.executable, errno));

  SpawnPlan plan;
  if (const int error = fill(plan, channel_fd, output_fd, input_fd); error != 0) {
    return model::fail(spawn_error(options.executable, error));
  }
  std::vector<std::string> argv = {options.executable};
  argv.insert(argv.end(), options.arguments.begin(), options.arguments.end());
  insist_on_zombies();

  pid_t pid = -1;
  const int error = posix_spawn(&pid, options.executable.c_str(), &plan.actions, &plan.attributes,
                                pointers(argv).data(), pointers(options.environment).data());
  if (error != 0) return model::fail(spawn_error(options.executable, error));

  UniqueFd pid_fd(static_cast<int>(syscall(SYS_pidfd_open, pid, 0)));  // always CLOEXEC
  if (!pid_fd) {
    const int open_error = errno;
    discard(pid);
    return model::fail(model::from_errno("watch worker '" + options.executable + "'", open_error));
  }
  return Process(pid, std::move(pid_fd));
}

void Process::signal_group(int signal) const {
  if (reaped_) return;
  const bool delivered = ::kill(-pid_, signal) == 0;
  // A leader that moved to another group is not in its own any more.
  if (!delivered || signal == SIGKILL) {
    syscall(SYS_pidfd_send_signal, pid_fd_.get(), signal, nullptr, 0);
  }
}

bool Process::has_exited() const {
  if (reaped_) return true;
  siginfo_t info{};
  const auto id = static_cast<id_t>(pid_fd_.get());
  return waitid(kByPidFd, id, &info, WEXITED | WNOHANG | WNOWAIT) == 0 && info.si_pid == pid_;
}

std::optional<ExitFact> Process::reap() {
  if (reaped_ || !has_exited()) return std::nullopt;
  // The zombie still holds the group's number, so this cannot hit a stranger.
  ::kill(-pid_, SIGKILL);
  siginfo_t info{};
  int rc = 0;
  do {
    rc = waitid(kByPidFd, static_cast<id_t>(pid_fd_.get()), &info, WEXITED | WNOHANG);
  } while (rc != 0 && errno == EINTR);
  COLLWATCH_ASSERT(rc == 0 && info.si_pid == pid_);
  reaped_ = true;
  if (info.si_code == CLD_EXITED) return Exited{info.si_status};
  return Signalled{info.si_status, info.si_code == CLD_DUMPED};
}

std::optional<ExitFact> Process::reap_within(std::chrono::milliseconds limit) {
  const auto deadline = Clock::now() + limit;
  while (true) {
    if (auto fact = reap()) return fact;
    const auto left = std::chrono::ceil<std::chrono::milliseconds>(deadline - Clock::now());
    if (left.count() <= 0) return std::nullopt;
    // Short steps: a process held by a debugger is readable for ever without being reapable.
    pollfd entry{pid_fd_.get(), POLLIN, 0};
    if (poll(&entry, 1, static_cast<int>(left.count())) > 0 && !has_exited()) poll(nullptr, 0, 5);
  }
}

}  // namespace collwatch::supervise
