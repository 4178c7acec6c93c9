// SPDX-License-Identifier: Apache-2.0
//
// pidfds in one epoll. What the headers of older systems do not have yet is written out here.
#include "daemon/processes/exits.h"

#include <sys/epoll.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cstdint>
#include <cstring>

#include "daemon/processes/gather.h"

namespace collwatch::processes {
namespace {

constexpr std::size_t kMostFollowed = 256;

/// struct pidfd_info as of Linux 6.15, 64 bytes at first.
struct PidfdInfo {
  std::uint64_t mask = 0;
  std::uint64_t cgroup = 0;
  std::uint32_t pid = 0, tgid = 0, ppid = 0;
  std::uint32_t ids[8] = {};
  std::int32_t exit_code = 0;
};
static_assert(sizeof(PidfdInfo) == 64);
constexpr std::uint64_t kInfoExit = 1ULL << 3;              // PIDFD_INFO_EXIT
const unsigned long kGetInfo = _IOWR(0xFF, 11, PidfdInfo);  // PIDFD_GET_INFO

/// Of a reaped process.
std::optional<int> status_from_pidfd(int fd) {
  PidfdInfo info;
  info.mask = kInfoExit;
  if (::ioctl(fd, kGetInfo, &info) != 0 || (info.mask & kInfoExit) == 0) return std::nullopt;
  return info.exit_code;
}

/// Of one that its parent has not asked after yet: the last field of its stat.
std::optional<int> status_from_stat(const std::string& proc, int pid, std::uint64_t start_ticks) {
  const std::string text = read_some(folder_of_process(proc, pid) + "/stat", 16384).data;
  const auto stat = parse_stat(text);
  if (!stat || stat->state != 'Z' || stat->start_ticks != start_ticks) return std::nullopt;
  const auto words = words_of(text);
  // The field is 0 too for those who may not see it; a clean exit of it is then not to be told.
  const auto code = whole_number(words.back());
  if (!code || *code == 0) return std::nullopt;
  return *code;
}

}  // namespace

std::string exit_text(const Exit& exit) {
  if (!exit.status) return "ended; how is not known";
  if (WIFSIGNALED(*exit.status)) {
    const int number = WTERMSIG(*exit.status);
    return "ended by signal " + std::to_string(number) + " (" + strsignal(number) + ")";
  }
  return "ended with exit code " + std::to_string(WEXITSTATUS(*exit.status));
}

bool is_failure(const Exit& exit) {
  return exit.status && *exit.status != 0;
}

ExitWatch::ExitWatch(std::string proc)
    : proc_(std::move(proc)), epoll_(::epoll_create1(EPOLL_CLOEXEC)) {}

ExitWatch::~ExitWatch() {
  for (const auto& entry : followed_) ::close(entry.second.fd);
  if (epoll_ >= 0) ::close(epoll_);
}

void ExitWatch::follow(const std::vector<Process>& processes) {
  for (const Process& process : processes) {
    const auto known = followed_.find(process.pid);
    if (known != followed_.end()) {
      // A rank may learn more about itself; another process with its pid comes after its exit.
      known->second.exit.rank = process.identity.rank;
      continue;
    }
    if (followed_.size() >= kMostFollowed) return;
    Followed one;
    one.fd = static_cast<int>(::syscall(SYS_pidfd_open, process.pid, 0));
    if (one.fd < 0) continue;
    // Between the look and now the pid may have become somebody else's.
    const auto stat = read_stat(folder_of_process(proc_, process.pid));
    epoll_event event{};
    event.events = EPOLLIN;
    event.data.fd = process.pid;
    if (!stat || stat->start_ticks != process.start_ticks ||
        ::epoll_ctl(epoll_, EPOLL_CTL_ADD, one.fd, &event) != 0) {
      ::close(one.fd);
      continue;
    }
    one.start_ticks = process.start_ticks;
    one.exit = {process.pid, process.identity.job, process.program, process.identity.rank, {}};
    followed_.emplace(process.pid, std::move(one));
  }
}

std::vector<Exit> ExitWatch::take() {
  std::vector<Exit> ended;
  std::array<epoll_event, 64> events;
  const int count = ::epoll_wait(epoll_, events.data(), static_cast<int>(events.size()), 0);
  for (int i = 0; i < count; ++i) {
    const auto found = followed_.find(events[static_cast<std::size_t>(i)].data.fd);
    if (found == followed_.end()) continue;
    Followed& one = found->second;
    one.exit.status = status_from_stat(proc_, found->first, one.start_ticks);
    if (!one.exit.status) one.exit.status = status_from_pidfd(one.fd);
    ended.push_back(one.exit);
    ::close(one.fd);
    followed_.erase(found);
  }
  return ended;
}

}  // namespace collwatch::processes
