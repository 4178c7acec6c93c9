// SPDX-License-Identifier: Apache-2.0
//
// Looks at real processes on the real /proc: they are found, what they send is counted, a stopped
// and a killed one are told apart, and nothing is done to them.
#include "daemon/processes/scan.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <iostream>
#include <thread>

#include "daemon/processes/exits.h"
#include "daemon/processes/socket_bytes.h"
#include "tests/support/catch.h"

using namespace collwatch;
using namespace collwatch::processes;
using namespace std::chrono_literals;

namespace {

/// Both ends of a TCP connection over loopback.
struct TcpPair {
  int ends[2] = {-1, -1};
  TcpPair() {
    const int listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    sockaddr_in at{};
    at.sin_family = AF_INET;
    at.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t length = sizeof at;
    REQUIRE(bind(listener, reinterpret_cast<sockaddr*>(&at), sizeof at) == 0);
    REQUIRE(listen(listener, 1) == 0);
    REQUIRE(getsockname(listener, reinterpret_cast<sockaddr*>(&at), &length) == 0);
    ends[0] = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    REQUIRE(connect(ends[0], reinterpret_cast<sockaddr*>(&at), sizeof at) == 0);
    ends[1] = accept4(listener, nullptr, nullptr, SOCK_CLOEXEC);
    REQUIRE(ends[1] >= 0);
    close(listener);
  }
  ~TcpPair() {
    close(ends[0]);
    close(ends[1]);
  }
};

class Rank {
 public:
  Rank(int rank, const char* deed, int fd) {
    // A name of its own, so that nobody else's processes are among what is looked at.
    const std::string job = "TORCHELASTIC_RUN_ID=test-" + std::to_string(getpid());
    const std::string number = "RANK=" + std::to_string(rank);
    const std::string local = "LOCAL_RANK=" + std::to_string(rank);
    const char* const variables[] = {job.c_str(),    number.c_str(),       local.c_str(),
                                     "WORLD_SIZE=2", "LOCAL_WORLD_SIZE=2", nullptr};
    const char* const words[] = {COLLWATCH_BINARY_DIR "/fake_rank", deed, nullptr};
    pid_ = fork();
    if (pid_ == 0) {
      if (fd >= 0) dup2(fd, 20);
      execve(words[0], const_cast<char**>(words), const_cast<char**>(variables));
      _exit(127);
    }
    REQUIRE(pid_ > 0);
  }
  ~Rank() { end(); }
  Rank(const Rank&) = delete;
  Rank& operator=(const Rank&) = delete;

  int pid() const { return pid_; }
  void signal(int number) const { kill(pid_, number); }
  void end() {
    if (pid_ <= 0) return;
    kill(pid_, SIGKILL);
    waitpid(pid_, nullptr, 0);
    pid_ = -1;
  }

 private:
  pid_t pid_ = -1;
};

/// The test's own job in a report; nothing where it is not there.
const Job* job_in(const ProcessReport& report) {
  const std::string name = "torchrun:test-" + std::to_string(getpid());
  for (const Job& job : report.jobs) {
    if (job.job == name) return &job;
  }
  return nullptr;
}

const Process* process_in(const ProcessReport& report, int pid) {
  for (const Process& process : report.processes) {
    if (process.pid == pid) return &process;
  }
  return nullptr;
}

/// Looks until `good` or for so long that only a broken test gets there.
template <typename Good>
ProcessReport look_until(Good good) {
  const Surroundings here = real_surroundings();
  const auto end = std::chrono::steady_clock::now() + 30s;
  auto report = scan(here, nullptr, std::chrono::steady_clock::now());
  while (!good(report) && std::chrono::steady_clock::now() < end) {
    std::this_thread::sleep_for(600ms);
    report = scan(here, &report, std::chrono::steady_clock::now());
  }
  REQUIRE(good(report));
  return report;
}

Progress progress_of(const ProcessReport& report, const Rank& rank) {
  const Process* const process = process_in(report, rank.pid());
  return process == nullptr ? Progress::unknown : process->progress;
}

}  // namespace

TEST_CASE("two real ranks that talk: found, connected, counted; stopped, then gone") {
  if (!sockets_with_bytes()) {
    std::cout << "SKIPPED: the kernel does not tell the bytes of sockets (NETLINK_SOCK_DIAG)\n";
    return;
  }
  auto pair = std::make_unique<TcpPair>();
  Rank zero(0, "write", pair->ends[0]);
  Rank one(1, "read", pair->ends[1]);
  pair.reset();
  const auto moving = look_until([&](const ProcessReport& report) {
    const Process* const process = process_in(report, zero.pid());
    return process != nullptr && process->moved.value_or(0) > 100'000;
  });
  const Process& writer = *process_in(moving, zero.pid());
  CHECK(writer.identity.rank == 0);
  CHECK(writer.program == "fake_rank");
  CHECK(writer.progress == Progress::moving);
  CHECK(writer.backend == Backend::unknown);
  CHECK(writer.own_network);
  CHECK_FALSE(writer.container);
  REQUIRE(writer.connections.size() == 1);
  CHECK(writer.connections[0].kind == Connections::Kind::ranks);
  CHECK(writer.connections[0].interface == "lo");
  CHECK(job_in(moving)->ranks == std::vector<int>{0, 1});

  zero.signal(SIGSTOP);
  const auto stopped = look_until([&](const ProcessReport& report) {
    return progress_of(report, zero) == Progress::stalled &&
           progress_of(report, one) == Progress::stalled;
  });
  CHECK(process_in(stopped, zero.pid())->state == 'T');
  CHECK(job_in(stopped)->stalled);

  const Surroundings here = real_surroundings();
  zero.end();
  const auto gone = scan(here, &stopped, stopped.at + 1s);
  CHECK(job_in(gone)->missing == std::vector<int>{0});
}

TEST_CASE("a process that is asked for is shown, rank or not; one that is not there is not") {
  const Surroundings here = real_surroundings();
  Rank rank(0, "wait", -1);
  const auto now = std::chrono::steady_clock::now();
  CHECK(process_in(scan(here, nullptr, now, rank.pid()), rank.pid()) != nullptr);
  CHECK(process_in(scan(here, nullptr, now), getpid()) == nullptr);
  const int pid = rank.pid();
  rank.end();
  CHECK(process_in(scan(here, nullptr, now, pid), pid) == nullptr);
}

TEST_CASE("the end of a rank is told at once, and how it ended") {
  auto rank = std::make_unique<Rank>(1, "wait", -1);
  ExitWatch exits;
  if (exits.descriptor() < 0) {
    std::cout << "SKIPPED: no epoll\n";
    return;
  }
  const int pid = rank->pid();
  const auto report =
      look_until([&](const ProcessReport& found) { return process_in(found, pid) != nullptr; });
  exits.follow({*process_in(report, pid)});
  if (exits.followed() == 0) {
    std::cout << "SKIPPED: the kernel has no pidfds\n";
    return;
  }
  exits.follow({*process_in(report, pid)});
  CHECK(exits.followed() == 1);
  CHECK(exits.take().empty());
  rank->signal(SIGKILL);
  pollfd ready{exits.descriptor(), POLLIN, 0};
  REQUIRE(poll(&ready, 1, 30'000) == 1);
  const auto ended = exits.take();
  REQUIRE(ended.size() == 1);
  CHECK(ended[0].rank == 1);
  CHECK(ended[0].status == SIGKILL);  // it is not reaped yet, so every kernel tells
  CHECK(exits.followed() == 0);
}

TEST_CASE(
    "a rank that its parent has reaped at once has its status from the kernel, if it is new") {
  Rank rank(0, "wait", -1);
  ExitWatch exits;
  const Surroundings here = real_surroundings();
  const auto report = scan(here, nullptr, std::chrono::steady_clock::now(), rank.pid());
  REQUIRE(process_in(report, rank.pid()) != nullptr);
  exits.follow({*process_in(report, rank.pid())});
  if (exits.followed() == 0) {
    std::cout << "SKIPPED: the kernel has no pidfds\n";
    return;
  }
  rank.end();
  const auto ended = exits.take();
  REQUIRE(ended.size() == 1);
  if (!ended[0].status) {
    std::cout
        << "SKIPPED: this kernel does not tell how a process ended that is reaped (6.15 does)\n";
    return;
  }
  CHECK(ended[0].status == SIGKILL);
}
