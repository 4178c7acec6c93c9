// SPDX-License-Identifier: Apache-2.0
//
// One fake worker under supervision and all that its handlers were told, plus the questions that
// tests ask the kernel: open descriptors, children, whether a process lives. Every wait is for a
// condition, with a deadline that only a broken test reaches.
#pragma once

#include <dirent.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <fstream>
#include <iterator>
#include <memory>
#include <string>
#include <vector>

#include "daemon/supervise/worker.h"
#include "tests/support/catch.h"

namespace zoo {

using namespace std::chrono_literals;
using namespace collwatch::supervise;
using collwatch::base::Clock;
using collwatch::base::EventLoop;
namespace wire = collwatch::wire;
namespace model = collwatch::model;

inline const std::string kFakeWorker = COLLWATCH_BINARY_DIR "/fake_worker";

template <typename Condition>
bool turn_until(EventLoop& loop, const Condition& condition, Clock::duration limit = 20s) {
  const auto deadline = Clock::now() + limit;
  while (!condition()) {
    if (Clock::now() > deadline) return false;
    REQUIRE(loop.turn(20ms));
  }
  return true;
}

inline int open_descriptors() {
  DIR* folder = opendir("/proc/self/fd");
  int count = 0;
  while (readdir(folder) != nullptr) ++count;
  closedir(folder);
  return count;
}

/// No child at all, not even a zombie.
inline bool childless() {
  siginfo_t info{};
  return waitid(P_ALL, 0, &info, WEXITED | WNOHANG | WNOWAIT) != 0 && errno == ECHILD;
}

/// The state letter of proc(5): R, S, T (stopped), Z (zombie) ...; X for one that is gone.
inline char state_of(pid_t pid) {
  std::ifstream file("/proc/" + std::to_string(pid) + "/stat");
  const std::string stat{std::istreambuf_iterator<char>(file), {}};
  const auto name_end = stat.rfind(')');
  return name_end == std::string::npos ? 'X' : stat.at(name_end + 2);
}

/// Gone, or a zombie that somebody has to reap.
inline bool dead(pid_t pid) {
  return state_of(pid) == 'Z' || state_of(pid) == 'X';
}

/// Waits without turning any loop, so that what happens meanwhile waits for the loop too.
template <typename Condition>
bool wait_aside(const Condition& condition) {
  const auto deadline = Clock::now() + 20s;
  while (!condition() && Clock::now() < deadline) usleep(1000);
  return condition();
}

/// The numbers that follow `word` in what was printed: "child 17\nchild 18\n".
inline std::vector<pid_t> pids_after(const std::string& word, const std::string& printed) {
  std::vector<pid_t> pids;
  for (auto at = printed.find(word); at != std::string::npos; at = printed.find(word, at + 1)) {
    pids.push_back(std::stoi(printed.substr(at + word.size())));
  }
  return pids;
}

struct Keeper {
  explicit Keeper(EventLoop& event_loop) : loop(event_loop) {}
  Keeper(const Keeper&) = delete;
  Keeper& operator=(const Keeper&) = delete;

  WorkerOptions options(std::vector<std::string> script) const {
    WorkerOptions result;
    result.executable = kFakeWorker;
    result.arguments = std::move(script);
    result.grace = grace;
    return result;
  }
  Worker::Handlers handlers() {
    Worker::Handlers result;
    result.message = [this](const wire::FromWorker& message) { messages.push_back(message); };
    result.protocol_error = [this](const std::string& text) { errors.push_back(text); };
    result.ended = [this](const ExitFact& fact) { ends.push_back(fact); };
    result.unreaped = [this] { ++unreaped; };
    return result;
  }
  void start(std::vector<std::string> script) {
    auto spawned = Worker::spawn(loop, options(std::move(script)), handlers());
    REQUIRE(spawned);
    worker = std::move(*spawned);
  }

  bool until_ended() {
    return turn_until(loop, [this] { return !ends.empty(); });
  }
  template <typename M>
  int count() const {
    int n = 0;
    for (const auto& message : messages) n += std::holds_alternative<M>(message) ? 1 : 0;
    return n;
  }
  template <typename M>
  bool until(int wanted = 1) {
    return turn_until(loop, [this, wanted] { return count<M>() >= wanted; });
  }
  bool until_error() {
    return turn_until(loop, [this] { return !errors.empty(); });
  }
  bool until_printed(const std::string& text) {
    return turn_until(
        loop, [this, &text] { return worker->output_tail().find(text) != std::string::npos; });
  }

  EventLoop& loop;
  std::chrono::milliseconds grace{150};
  std::unique_ptr<Worker> worker;
  std::vector<wire::FromWorker> messages;
  std::vector<std::string> errors;
  std::vector<ExitFact> ends;
  int unreaped = 0;
};

}  // namespace zoo
