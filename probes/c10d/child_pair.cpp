// SPDX-License-Identifier: Apache-2.0
//
// Forks, waits, kills. A child's record is "<end>\n<text>" on a pipe of its own; what it printed
// before it died is kept for the words of an abort.
#include "probes/c10d/child_pair.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <optional>
#include <vector>

#include "probes/c10d/words.h"

namespace collwatch::c10d_probe {
namespace {

using Clock = std::chrono::steady_clock;
using std::chrono::milliseconds;
using wire::C10dEnd;

constexpr std::size_t kMostOutput = 16384;
/// The other rank may be about to say the same; longer than that it is only waiting for its peer.
constexpr milliseconds kOtherMayStillSpeak{1000};

struct Child {
  pid_t pid = -1;
  int record_fd = -1;  ///< what it says, -1 at its end
  int output_fd = -1;  ///< what it prints, -1 at its end
  std::string record;
  std::string output;
  std::optional<Ending> ending;
};

bool make_pipe(std::array<int, 2>& ends) {
  return ::pipe2(ends.data(), O_CLOEXEC) == 0;
}

void write_all(int fd, const std::string& text) {
  std::size_t done = 0;
  while (done < text.size()) {
    const ssize_t wrote = ::write(fd, text.data() + done, text.size() - done);
    if (wrote < 0 && errno != EINTR) return;
    if (wrote > 0) done += static_cast<std::size_t>(wrote);
  }
}

/// The rest of the child's life.
[[noreturn]] void live(const std::function<Ending()>& body, int record_fd, int output_fd) {
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  std::signal(SIGTERM, SIG_DFL);
  ::dup2(output_fd, STDOUT_FILENO);
  ::dup2(output_fd, STDERR_FILENO);
  const Ending ending = body();
  write_all(record_fd, std::string(model::name(ending.end)) + "\n" + ending.text);
  ::close(record_fd);
  for (;;) ::pause();
}

std::optional<Child> start(const std::function<Ending()>& body) {
  std::array<int, 2> record{};
  std::array<int, 2> output{};
  if (!make_pipe(record)) return std::nullopt;
  if (!make_pipe(output)) {
    ::close(record[0]);
    ::close(record[1]);
    return std::nullopt;
  }
  const pid_t pid = ::fork();
  if (pid == 0) live(body, record[1], output[1]);
  ::close(record[1]);
  ::close(output[1]);
  if (pid < 0) {
    ::close(record[0]);
    ::close(output[0]);
    return std::nullopt;
  }
  Child child;
  child.pid = pid;
  child.record_fd = record[0];
  child.output_fd = output[0];
  return child;
}

/// False at the end.
bool read_some(int fd, std::string& into) {
  std::array<char, 4096> buffer{};
  const ssize_t got = ::read(fd, buffer.data(), buffer.size());
  if (got < 0) return errno == EINTR || errno == EAGAIN;
  if (into.size() < kMostOutput) into.append(buffer.data(), static_cast<std::size_t>(got));
  return got > 0;
}

void close_end(int& fd) {
  if (fd >= 0) ::close(fd);
  fd = -1;
}

/// What an uncaught exception said. Anything else that a dying process prints (a backtrace) differs
/// from run to run and says less than its signal.
std::string last_words(const std::string& output) {
  const std::size_t from = output.rfind("what():");
  return from == std::string::npos ? "" : first_words(output.substr(from));
}

/// Its record has ended: what it said, or how it died.
Ending ending_of(Child& child) {
  const std::size_t line = child.record.find('\n');
  if (line != std::string::npos) {
    const auto end = model::parse<C10dEnd>(child.record.substr(0, line));
    return {end.value_or(C10dEnd::crash), child.record.substr(line + 1)};
  }
  int status = 0;
  while (::waitpid(child.pid, &status, 0) < 0 && errno == EINTR) {
  }
  child.pid = -1;
  while (child.output_fd >= 0 && read_some(child.output_fd, child.output)) {
  }
  const std::string how = WIFSIGNALED(status)
                              ? std::string("SIG") + ::sigabbrev_np(WTERMSIG(status))
                              : "exit " + std::to_string(WEXITSTATUS(status));
  const std::string words = last_words(child.output);
  return {C10dEnd::crash, words.empty() ? how : how + ": " + words};
}

void listen(Child& child, const std::array<pollfd, 2>& ready) {
  if (ready[1].revents != 0 && !read_some(child.output_fd, child.output)) {
    close_end(child.output_fd);
  }
  if (ready[0].revents != 0 && !read_some(child.record_fd, child.record)) {
    close_end(child.record_fd);
    child.ending = ending_of(child);
  }
}

bool ended_well(const Ending& ending) {
  return ending.end == C10dEnd::ok || ending.end == C10dEnd::accepted;
}

/// Until all have ended, one has ended badly (and the others had their moment), or the deadline.
void wait_for_endings(std::vector<Child>& children, Clock::time_point deadline) {
  bool is_bad = false;
  while (Clock::now() < deadline) {
    bool is_running = false;
    std::vector<pollfd> waits;
    for (const Child& child : children) {
      is_running = is_running || !child.ending;
      waits.push_back({child.record_fd, POLLIN, 0});
      waits.push_back({child.output_fd, POLLIN, 0});
    }
    if (!is_running) return;
    const auto left = std::chrono::ceil<milliseconds>(deadline - Clock::now());
    ::poll(waits.data(), waits.size(), static_cast<int>(std::max<long>(left.count(), 0)));
    for (std::size_t i = 0; i < children.size(); ++i) {
      if (children[i].ending) continue;
      listen(children[i], {waits[2 * i], waits[2 * i + 1]});
      const auto& ending = children[i].ending;
      if (!ending || ended_well(*ending) || is_bad) continue;
      is_bad = true;
      deadline = std::min(deadline, Clock::now() + kOtherMayStillSpeak);
    }
  }
}

/// How much an ending says of the pair: a rank that lost its peer says least of those that failed.
int weight(const Ending& ending) {
  switch (ending.end) {
    case C10dEnd::crash:
      return 5;
    case C10dEnd::wrong_values:
      return 4;
    case C10dEnd::unavailable:
      return 3;
    case C10dEnd::refused:
      for (const char* lost : {"closed by peer", "reset by peer", "Broken pipe"}) {
        if (ending.text.find(lost) != std::string::npos) return 2;
      }
      return 3;
    case C10dEnd::hang:
      return 1;
    default:
      return 0;
  }
}

void finish(std::vector<Child>& children) {
  for (Child& child : children) {
    if (child.pid > 0) ::kill(child.pid, SIGKILL);
  }
  for (Child& child : children) {
    if (child.pid > 0) {
      while (::waitpid(child.pid, nullptr, 0) < 0 && errno == EINTR) {
      }
    }
    close_end(child.record_fd);
    close_end(child.output_fd);
  }
}

Ending run(const std::vector<std::function<Ending()>>& bodies, milliseconds deadline) {
  std::vector<Child> children;
  for (const auto& body : bodies) {
    auto child = start(body);
    if (!child) {
      const Ending failed{C10dEnd::unavailable, std::string("fork: ") + std::strerror(errno)};
      finish(children);
      return failed;
    }
    children.push_back(std::move(*child));
  }
  wait_for_endings(children, Clock::now() + deadline);
  Ending result = children.front().ending.value_or(Ending{});
  for (const Child& child : children) {
    const Ending ending = child.ending.value_or(
        Ending{C10dEnd::hang, "no answer within " + std::to_string(deadline.count()) + " ms"});
    // Ranks are asked in their order, so that the same failure is told the same way every time.
    if (weight(ending) > weight(result)) result = ending;
  }
  finish(children);
  return result;
}

std::string hear(int fd) {
  std::string heard;
  while (read_some(fd, heard) && heard.find('\n') == std::string::npos) {
  }
  return heard.substr(0, heard.find('\n'));
}

}  // namespace

Ending run_pair(const RankBody& body, milliseconds deadline) {
  std::array<std::array<int, 2>, 2> ways{};  // ways[r]: towards rank r
  if (!make_pipe(ways[0]))
    return {C10dEnd::unavailable, std::string("pipe: ") + std::strerror(errno)};
  if (!make_pipe(ways[1])) {
    const Ending failed{C10dEnd::unavailable, std::string("pipe: ") + std::strerror(errno)};
    for (const int fd : ways[0]) ::close(fd);
    return failed;
  }
  std::vector<std::function<Ending()>> bodies;
  for (int rank = 0; rank < 2; ++rank) {
    const int in = ways[static_cast<std::size_t>(rank)][0];
    const int out = ways[static_cast<std::size_t>(1 - rank)][1];
    bodies.emplace_back([&body, rank, in, out] {
      const Between between{[out](const std::string& text) { write_all(out, text + "\n"); },
                            [in] { return hear(in); }};
      return body(rank, between);
    });
  }
  const Ending result = run(bodies, deadline);
  for (const auto& way : ways) {
    for (const int fd : way) ::close(fd);
  }
  return result;
}

Ending run_alone(const std::function<Ending()>& body, milliseconds deadline) {
  return run({body}, deadline);
}

}  // namespace collwatch::c10d_probe
