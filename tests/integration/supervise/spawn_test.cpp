// SPDX-License-Identifier: Apache-2.0
//
// What a worker is born with, and every way in which a birth can fail.
#include <fcntl.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <filesystem>

#include "tests/integration/supervise/zoo.h"

using namespace zoo;

namespace {

/// What the fake worker prints about itself.
std::string told(const std::string& subject, std::vector<std::string> keep = {}) {
  auto loop = EventLoop::create().value();
  Keeper keeper(*loop);
  auto options = keeper.options({"show " + subject});
  options.keep_environment = std::move(keep);
  auto spawned = Worker::spawn(*loop, options, keeper.handlers());
  REQUIRE(spawned);
  keeper.worker = std::move(*spawned);
  REQUIRE(keeper.until_ended());
  CHECK(keeper.ends == std::vector<ExitFact>{Exited{0}});
  return keeper.worker->output_tail();
}

model::Error failure(const std::string& executable) {
  auto loop = EventLoop::create().value();
  WorkerOptions options;
  options.executable = executable;
  const int before = open_descriptors();
  const auto spawned = Worker::spawn(*loop, options, {});
  CHECK(open_descriptors() == before);
  CHECK(childless());
  REQUIRE_FALSE(spawned);
  INFO(spawned.error().text);
  CHECK(spawned.error().text.find(executable) != std::string::npos);
  return spawned.error();
}

std::string temporary_folder() {
  std::string folder = "/tmp/collwatch-spawn-XXXXXX";
  REQUIRE(mkdtemp(folder.data()) != nullptr);
  return folder;
}

}  // namespace

TEST_CASE("a worker has exactly the four descriptors it should have") {
  // What a careless parent hands down, at a number that nothing else takes.
  const int zero = open("/dev/zero", O_RDONLY);
  const int leaky = fcntl(zero, F_DUPFD, 50);
  close(zero);
  const std::string descriptors = told("descriptors");
  close(leaky);
  CHECK(descriptors.find("fd 0 /dev/null\n") != std::string::npos);
  CHECK(descriptors.find("fd 1 pipe:") != std::string::npos);
  CHECK(descriptors.find("fd 2 pipe:") != std::string::npos);
  CHECK(descriptors.find("fd 3 socket:") != std::string::npos);
  CHECK(descriptors.find("/dev/zero") == std::string::npos);
  CHECK(pids_after("fd ", descriptors) == std::vector<pid_t>{0, 1, 2, 3});
}

namespace {
/// Standard descriptors taken away, so that new ones get their numbers; given back at the end.
class WithoutStandardDescriptors {
 public:
  WithoutStandardDescriptors() {
    for (int fd = 0; fd < 3; ++fd) {
      saved_[static_cast<std::size_t>(fd)] = fcntl(fd, F_DUPFD_CLOEXEC, 10);
      close(fd);
    }
  }
  ~WithoutStandardDescriptors() {
    for (int fd = 0; fd < 3; ++fd) {
      const int saved = saved_[static_cast<std::size_t>(fd)];
      dup2(saved, fd);
      close(saved);
    }
  }
  WithoutStandardDescriptors(const WithoutStandardDescriptors&) = delete;
  WithoutStandardDescriptors& operator=(const WithoutStandardDescriptors&) = delete;

 private:
  std::array<int, 3> saved_{};
};
}  // namespace

TEST_CASE("the descriptors are right even where the daemon was started without its own") {
  auto loop = EventLoop::create().value();
  Keeper keeper(*loop);
  std::string descriptors;
  bool ended = false;
  {
    // Now the channel's two ends and the pipe's first get 0, 1 and 2. No check in here: there is
    // nowhere to print.
    const WithoutStandardDescriptors closed;
    auto spawned =
        Worker::spawn(*loop, keeper.options({"hello", "show descriptors"}), keeper.handlers());
    if (spawned) {
      const auto deadline = Clock::now() + 20s;
      while (keeper.ends.empty() && Clock::now() < deadline && loop->turn(20ms)) continue;
      ended = !keeper.ends.empty();
      descriptors = (*spawned)->output_tail();
    }
  }
  REQUIRE(ended);
  CHECK(keeper.count<wire::Hello>() == 1);
  CHECK(descriptors.find("fd 0 /dev/null\n") != std::string::npos);
  CHECK(descriptors.find("fd 1 pipe:") != std::string::npos);
  CHECK(descriptors.find("fd 2 pipe:") != std::string::npos);
  CHECK(descriptors.find("fd 3 socket:") != std::string::npos);
}

TEST_CASE("ignored and blocked signals of the daemon are not inherited") {
  struct sigaction ignore {};
  ignore.sa_handler = SIG_IGN;
  struct sigaction before {};
  sigaction(SIGPIPE, &ignore, &before);
  sigset_t blocked;
  sigset_t mask_before;
  sigemptyset(&blocked);
  sigaddset(&blocked, SIGTERM);
  sigprocmask(SIG_BLOCK, &blocked, &mask_before);
  const std::string signals = told("signals");
  sigprocmask(SIG_SETMASK, &mask_before, nullptr);
  sigaction(SIGPIPE, &before, nullptr);
  INFO(signals);
  CHECK(signals.find("SigBlk:\t0000000000000000\n") != std::string::npos);
  const auto ignored = signals.find("SigIgn:\t");
  REQUIRE(ignored != std::string::npos);
  // glibc leaves its two internal signals (32, 33) ignored in every spawned child.
  const auto mask = std::stoull(signals.substr(ignored + 8, 16), nullptr, 16);
  CHECK((mask & ~0x180000000ULL) == 0);
}

TEST_CASE("an inherited 'ignore SIGCHLD' does not cost the exit fact") {
  struct sigaction ignore {};
  ignore.sa_handler = SIG_IGN;
  sigaction(SIGCHLD, &ignore, nullptr);
  CHECK(told("group") == "leads its group\n");
  struct sigaction now {};
  sigaction(SIGCHLD, nullptr, &now);
  CHECK(now.sa_handler == SIG_DFL);
}

TEST_CASE("the environment is the allow list and what was asked for") {
  setenv("NCCL_DEBUG", "INFO", 1);
  setenv("COLLWATCH_TEST_KEPT", "yes", 1);
  const std::string environment = told("environment", {"COLLWATCH_TEST_KEPT"});
  CHECK(environment.find("COLLWATCH_TEST_KEPT=yes\n") != std::string::npos);
  CHECK(environment.find("NCCL_DEBUG") == std::string::npos);
  unsetenv("NCCL_DEBUG");
}

TEST_CASE("executables that cannot be started are named, with the right kind of error") {
  using model::ErrorCode;
  const std::string folder = temporary_folder();
  const std::string plain = folder + "/not_executable";
  close(open(plain.c_str(), O_CREAT | O_WRONLY | O_CLOEXEC, 0644));
  const std::string dangling = folder + "/dangling";
  REQUIRE(symlink((folder + "/nowhere").c_str(), dangling.c_str()) == 0);

  CHECK(failure(folder + "/missing").code == ErrorCode::not_found);
  CHECK(failure(dangling).code == ErrorCode::not_found);
  CHECK(failure(plain + "/below_a_file").code == ErrorCode::not_found);
  CHECK(failure(plain).code == ErrorCode::permission);
  CHECK(failure(folder).code == ErrorCode::permission);  // a directory
  CHECK(failure("collwatch-probe-gloo").code == ErrorCode::invalid_argument);
  CHECK(failure("").code == ErrorCode::invalid_argument);

  chmod(plain.c_str(), 0755);  // executable, but no program: empty file
  CHECK(failure(plain).code == ErrorCode::io);
  std::filesystem::remove_all(folder);
}

TEST_CASE("running out of descriptors at any step is an error that leaks nothing") {
  auto loop = EventLoop::create().value();
  Keeper keeper(*loop);
  rlimit before{};
  REQUIRE(getrlimit(RLIMIT_NOFILE, &before) == 0);
  const int open_before = open_descriptors();
  const int next = dup(0);
  close(next);

  int failures = 0;
  bool started = false;
  for (rlim_t room = 0; room < 12 && !started; ++room) {
    const rlimit tight{static_cast<rlim_t>(next) + room, before.rlim_max};
    REQUIRE(setrlimit(RLIMIT_NOFILE, &tight) == 0);
    auto spawned = Worker::spawn(*loop, keeper.options({"hello", "hang"}), keeper.handlers());
    REQUIRE(setrlimit(RLIMIT_NOFILE, &before) == 0);
    started = spawned.has_value();
    if (started) break;
    ++failures;
    INFO("room " << room << ": " << spawned.error().text);
    CHECK(spawned.error().sys_errno == EMFILE);
    CHECK(open_descriptors() == open_before);
    CHECK(childless());
  }
  CHECK(started);
  CHECK(failures >= 5);  // both sockets, both pipe ends, the pidfd
}
