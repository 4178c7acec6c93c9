// SPDX-License-Identifier: Apache-2.0
//
// posix_spawn with the channel on descriptor 3, as the daemon does it.
#include "tests/integration/gloo/worker_process.h"

#include <poll.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <csignal>
#include <thread>

#include "tests/support/catch.h"

namespace collwatch::test {

using std::chrono::milliseconds;
using std::chrono::steady_clock;

WorkerProcess::WorkerProcess(std::string name, bool start, const std::string& program)
    : name_(std::move(name)) {
  auto [ours, theirs] = wire::Channel::make_pair().value();
  channel_ = std::move(ours);
  std::string path = COLLWATCH_BINARY_DIR "/" + program;
  std::array<char*, 2> argv{path.data(), nullptr};
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_adddup2(&actions, theirs.fd(), wire::kWorkerFd);
  const int spawned = posix_spawn(&pid_, path.c_str(), &actions, nullptr, argv.data(), environ);
  posix_spawn_file_actions_destroy(&actions);
  REQUIRE(spawned == 0);
  if (!start) return;
  send(wire::Start{wire::kProtocolVersion, name_});
  const auto hello = await<wire::Hello>();
  CHECK(hello.backend == "gloo");
  CHECK(hello.pid == pid_);
}

WorkerProcess::~WorkerProcess() {
  if (exit_) return;
  ::kill(pid_, SIGKILL);
  ::waitpid(pid_, nullptr, 0);
}

void WorkerProcess::send(const wire::ToWorker& message) {
  REQUIRE(channel_.send(wire::encode(message)));
}

bool WorkerProcess::hear(steady_clock::time_point deadline) {
  for (;;) {
    const auto received = channel_.receive();
    if (received.status == wire::ReceiveStatus::packet) {
      auto message = wire::decode_from_worker(received.packet);
      INFO(received.packet);
      REQUIRE(message);
      heard_.push_back(std::move(*message));
      return true;
    }
    if (received.status != wire::ReceiveStatus::would_block) return false;
    const auto left = std::chrono::ceil<milliseconds>(deadline - steady_clock::now());
    if (left.count() <= 0) return false;
    pollfd fd{channel_.fd(), POLLIN, 0};
    ::poll(&fd, 1, static_cast<int>(left.count()));
  }
}

void WorkerProcess::give_up(const std::string& waiting_for) {
  std::string said;
  for (const auto& message : heard_) said += "\n  " + wire::encode(message);
  FAIL("worker " << name_ << " never said something like " << waiting_for << "; it said:" << said);
  std::abort();  // not reached
}

void WorkerProcess::settle() {
  const auto number = ++settle_round_;
  send(wire::Round{number, 1000, {}});
  await<wire::RoundAck>([&](const wire::RoundAck& ack) { return ack.number == number; });
}

void WorkerProcess::signal(int number) {
  REQUIRE(::kill(pid_, number) == 0);
}

void WorkerProcess::freeze() {
  signal(SIGSTOP);
  int status = 0;
  REQUIRE(::waitpid(pid_, &status, WUNTRACED) == pid_);
  REQUIRE(WIFSTOPPED(status));
}

int WorkerProcess::await_exit() {
  const auto deadline = steady_clock::now() + kPatience;
  while (!exit_) {
    int status = 0;
    const pid_t reaped = ::waitpid(pid_, &status, WNOHANG);
    if (reaped == pid_) {
      exit_ = WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status);
    } else {
      if (steady_clock::now() >= deadline) give_up("goodbye");
      std::this_thread::sleep_for(milliseconds(2));
    }
  }
  while (hear(steady_clock::now())) {
  }
  return *exit_;
}

std::function<bool(const wire::EdgeReport&)> of_edge(const std::string& peer,
                                                     std::uint64_t attempt) {
  return [=](const wire::EdgeReport& report) {
    return report.peer == peer && report.attempt == attempt;
  };
}

Meeting prepare_edge(WorkerProcess& a, WorkerProcess& b, std::uint64_t attempt, int timeout_ms,
                     int interval_ms) {
  const auto prepare = [&](WorkerProcess& worker, const WorkerProcess& peer) {
    worker.send(wire::EdgePrepare{peer.name(), attempt, worker.name() < peer.name() ? 0 : 1,
                                  "127.0.0.1", timeout_ms, interval_ms});
  };
  const auto prepared = [&](WorkerProcess& worker, const WorkerProcess& peer) {
    return worker
        .await<wire::EdgePrepared>([&](const wire::EdgePrepared& message) {
          return message.peer == peer.name() && message.attempt == attempt;
        })
        .blob;
  };
  prepare(a, b);
  prepare(b, a);
  Meeting meeting;
  meeting.blob_a = prepared(a, b);
  meeting.blob_b = prepared(b, a);
  return meeting;
}

void connect_edge(WorkerProcess& a, WorkerProcess& b, std::uint64_t attempt,
                  const Meeting& meeting) {
  const std::string context = "context-" + std::to_string(attempt);
  a.send(wire::EdgeConnect{b.name(), attempt, context, meeting.blob_b});
  b.send(wire::EdgeConnect{a.name(), attempt, context, meeting.blob_a});
}

void open_edge(WorkerProcess& a, WorkerProcess& b, std::uint64_t attempt, int timeout_ms,
               int interval_ms) {
  connect_edge(a, b, attempt, prepare_edge(a, b, attempt, timeout_ms, interval_ms));
  const auto opened = [&](WorkerProcess& worker, const WorkerProcess& peer) {
    const auto report = worker.await<wire::EdgeReport>(of_edge(peer.name(), attempt));
    INFO(wire::encode(wire::FromWorker{report}));
    REQUIRE(report.phase == model::Phase::connect);
    REQUIRE(report.outcome == model::Outcome::ok);
  };
  opened(a, b);
  opened(b, a);
}

}  // namespace collwatch::test
