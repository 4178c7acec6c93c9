// SPDX-License-Identifier: Apache-2.0
//
// fork and exec by hand, because the child must arm its parent-death signal: no agent survives the
// demo, whatever happens to it. Between fork and exec only async-signal-safe calls are made.
#include "daemon/demo/agent.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <utility>

#include "daemon/demo/command.h"
#include "daemon/demo/network.h"

namespace collwatch::demo {
namespace {

using model::Result;
namespace fs = std::filesystem;

/// From SIGKILL to the end of a process; a driver could hold it longer, and then it may.
constexpr std::chrono::milliseconds kLastBreath{500};
constexpr char kWorkerName[] = "collwatch-probe-gloo";

/// Parent pid from /proc/PID/stat, -1 when it is gone. The name in parentheses may hold anything.
pid_t parent_of(pid_t pid) {
  std::ifstream file("/proc/" + std::to_string(pid) + "/stat");
  std::string line;
  if (!std::getline(file, line)) return -1;
  const std::size_t end = line.rfind(')');
  if (end == std::string::npos || end + 4 >= line.size()) return -1;
  return static_cast<pid_t>(std::atol(line.c_str() + end + 4));
}

std::string program_of(pid_t pid) {
  std::ifstream file("/proc/" + std::to_string(pid) + "/cmdline");
  std::string first;
  std::getline(file, first, '\0');
  return fs::path(first).filename();
}

/// The child's side of start(): never returns.
[[noreturn]] void become(char* const* argv, int log_fd, pid_t parent) {
  setpgid(0, 0);
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (getppid() != parent) _exit(127);  // the demo died before the line above
  // start() blocked them all: none may find the parent's handlers here, and be lost in them.
  for (int number = 1; number < NSIG; ++number) ::signal(number, SIG_DFL);
  sigset_t none;
  sigemptyset(&none);
  sigprocmask(SIG_SETMASK, &none, nullptr);
  const int null = open("/dev/null", O_RDONLY | O_CLOEXEC);
  dup2(null, STDIN_FILENO);
  dup2(log_fd, STDOUT_FILENO);
  dup2(log_fd, STDERR_FILENO);
  execv(argv[0], argv);
  _exit(127);
}

/// Waits for the end of `pid` without reaping it. False: not in time.
bool wait_for_end(pid_t pid, std::chrono::milliseconds patience) {
  const int pidfd = static_cast<int>(syscall(SYS_pidfd_open, pid, 0));
  if (pidfd < 0) return true;
  pollfd fd = {pidfd, POLLIN, 0};
  const auto until = std::chrono::steady_clock::now() + patience;
  int ready = 0;
  do {
    const auto left =
        std::chrono::ceil<std::chrono::milliseconds>(until - std::chrono::steady_clock::now());
    ready = poll(&fd, 1, std::max(0, static_cast<int>(left.count())));
  } while (ready < 0 && errno == EINTR);
  close(pidfd);
  return ready > 0;
}

/// A daemon's orphans come to the demo (Lab makes it their reaper): in a container without an init
/// they would stay zombies for ever.
void reap_orphans(const std::vector<pid_t>& orphans) {
  for (const pid_t orphan : orphans) {
    if (wait_for_end(orphan, kLastBreath)) waitpid(orphan, nullptr, WNOHANG);
  }
}

std::string how_it_ended(int status) {
  if (WIFEXITED(status)) return "ended with exit code " + std::to_string(WEXITSTATUS(status));
  return "died of signal " + std::to_string(WTERMSIG(status));
}

}  // namespace

Agent::~Agent() {
  kill();
}

Result<void> Agent::configure() const {
  const std::string host = place_.netns.empty() ? "127.0.0.1" : any_address(place_.peer_address);
  std::ofstream file(place_.directory + "/config.yaml");
  file << "node: " << place_.name << "\n"
       << "listen: \"" << endpoint(place_.status_host, place_.status_port) << "\"\n"
       << "network: {address: \"" << setup_.network_address << "\"}\n"
       << "peers:\n"
       << "  listen: \"" << endpoint(host, place_.peer_port) << "\"\n"
       << "  token_file: " << place_.token_file << "\n"
       << "membership: {file: " << place_.member_file << "}\n"
       << "labels: {cluster: demo}\n"
       // The host's kernel log is no part of the laboratory.
       << "watch: {kernel: false, processes: {interval: 0s}}\n"
       << "events: {path: " << place_.directory << "/events.jsonl}\n";
  file.close();
  if (!file) {
    return model::fail(model::ErrorCode::io, "cannot write " + place_.directory + "/config.yaml");
  }
  return {};
}

Result<void> Agent::start() {
  if (running()) return model::fail(model::ErrorCode::in_use, place_.name + " already runs");
  if (auto written = configure(); !written) return written;
  std::vector<std::string> words;
  // ip and env exec in place: the pid is the daemon's.
  if (!place_.netns.empty()) words = {find_program("ip"), "netns", "exec", place_.netns};
  if (!setup_.environment.empty()) {
    words.push_back(find_program("env"));
    words.insert(words.end(), setup_.environment.begin(), setup_.environment.end());
  }
  words.insert(words.end(),
               {setup_.bin_dir + "/collwatchd", "--config", place_.directory + "/config.yaml"});
  std::vector<char*> argv;
  argv.reserve(words.size() + 1);
  for (std::string& word : words) argv.push_back(word.data());
  argv.push_back(nullptr);
  const std::string log = place_.directory + "/collwatchd.log";
  const int log_fd = open(log.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
  if (log_fd < 0) return model::fail(model::from_errno("open " + log, errno));
  const pid_t parent = getpid();
  sigset_t all, before;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before);
  const pid_t child = fork();
  if (child == 0) become(argv.data(), log_fd, parent);
  const int fork_errno = errno;
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
  close(log_fd);
  if (child < 0) return model::fail(model::from_errno("fork", fork_errno));
  pid_ = child;
  asked_to_end_ = false;
  ended_.clear();
  return {};
}

bool Agent::running() {
  if (pid_ <= 0) return false;
  int status = 0;
  const pid_t done = waitpid(pid_, &status, WNOHANG);
  if (done == 0) return true;
  if (done == pid_ && !asked_to_end_) ended_ = how_it_ended(status);
  pid_ = -1;
  reap_orphans(std::exchange(workers_, {}));
  return false;
}

void Agent::ask_to_stop() {
  if (!running() || asked_to_end_) return;
  asked_to_end_ = true;
  workers_ = children();
  ::kill(pid_, SIGCONT);
  ::kill(pid_, SIGTERM);
}

void Agent::stop(std::chrono::milliseconds patience) {
  ask_to_stop();
  if (pid_ > 0 && !wait_for_end(pid_, patience)) kill();
  running();
}

void Agent::kill() {
  if (!running()) return;
  asked_to_end_ = true;
  // Looked up before the daemon dies (orphans have another parent), killed after it (it respawns).
  workers_ = children();
  ::kill(pid_, SIGKILL);
  for (const pid_t worker : workers_) ::kill(worker, SIGKILL);
  wait_for_end(pid_, kLastBreath);
  running();
}

Result<void> Agent::signal(int number) {
  if (!running()) {
    return model::fail(model::ErrorCode::not_found, place_.name + "'s collwatchd is not running");
  }
  if (::kill(pid_, number) != 0) return model::fail(model::from_errno("kill", errno));
  return {};
}

std::vector<pid_t> Agent::children() const {
  std::vector<pid_t> found;
  if (pid_ <= 0) return found;
  std::error_code ignored;
  for (const auto& entry : fs::directory_iterator("/proc", ignored)) {
    const pid_t pid = static_cast<pid_t>(std::atol(entry.path().filename().c_str()));
    if (pid > 0 && parent_of(pid) == pid_) found.push_back(pid);
  }
  return found;
}

std::optional<pid_t> Agent::worker() const {
  for (const pid_t child : children()) {
    if (program_of(child) == kWorkerName) return child;
  }
  return std::nullopt;
}

std::string Agent::status_url() const {
  return "http://" + endpoint(place_.status_host, place_.status_port) + "/api/v1/status";
}

std::string Agent::last_log_line() const {
  std::ifstream file(place_.directory + "/collwatchd.log");
  std::string line, last;
  while (std::getline(file, line)) {
    if (!line.empty()) last = line;
  }
  return last;
}

std::string Agent::unexpected_end() {
  if (running() || ended_.empty()) return "";
  const std::string last = last_log_line();
  return place_.name + "'s collwatchd " + ended_ + (last.empty() ? "" : ": " + last);
}

}  // namespace collwatch::demo
