// SPDX-License-Identifier: Apache-2.0
//
// A program that runs once: its input and output, and each limit that ends it.
#include "daemon/supervise/one_shot.h"

#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <variant>

#include "tests/support/catch.h"

using namespace collwatch::supervise;
using namespace std::chrono_literals;

namespace {

OneShotOptions shell(const std::string& script) {
  OneShotOptions options;
  options.executable = "/bin/sh";
  options.arguments = {"-c", script};
  options.environment = {"PATH=/usr/bin:/bin"};
  return options;
}

OneShotResult ran(const OneShotOptions& options) {
  const auto result = run_once(options);
  REQUIRE(result.has_value());
  CHECK(waitpid(-1, nullptr, WNOHANG) < 0);  // nothing is left behind
  return *result;
}

}  // namespace

TEST_CASE("run once: input in, both outputs back, the exit code") {
  const int input = memfd_create("input", MFD_CLOEXEC);
  REQUIRE(write(input, "three\nlines\nhere\n", 17) == 17);
  lseek(input, 0, SEEK_SET);
  auto options = shell("wc -l; echo to stderr >&2; exit 3");
  options.input_fd = input;
  const auto result = ran(options);
  close(input);
  CHECK(result.exit == ExitFact(Exited{3}));
  CHECK(result.output == "3\nto stderr\n");
  CHECK_FALSE(result.is_late);
}

TEST_CASE("run once: without an input it reads nothing, and it has no other descriptor") {
  CHECK(ran(shell("cat; ls /proc/self/fd | tr '\\n' ' '")).output == "0 1 2 3 ");  // 3 is ls' own
}

TEST_CASE("run once: past the deadline it is killed with its children") {
  auto options = shell("echo begun; sleep 600 & sleep 600");
  options.deadline = 300ms;
  const auto result = ran(options);
  CHECK(result.is_late);
  CHECK(result.output == "begun\n");
  CHECK(std::holds_alternative<KilledByUs>(result.exit));
}

TEST_CASE("run once: a child that outlives the program does not hold its end up") {
  const auto result = ran(shell("sleep 600 & echo done"));
  CHECK(result.exit == ExitFact(Exited{0}));
  CHECK(result.output == "done\n");
}

TEST_CASE("run once: too much output ends it") {
  auto options = shell("yes");
  options.most_output = 10000;
  const auto result = ran(options);
  CHECK(result.is_too_much);
  CHECK(result.output.size() == 10000);
}

TEST_CASE("run once: death by a signal is told") {
  CHECK(ran(shell("kill -SEGV $$")).exit == ExitFact(Signalled{11, false}));
}

TEST_CASE("run once: memory, processor time and core dumps are limited, its priority is lower") {
  auto options = shell("sleep 0.2; ulimit -v; ulimit -t; ulimit -c; nice");
  options.most_memory = 512 << 20;
  options.deadline = 20s;
  CHECK(ran(options).output.find("524288\n21\n0\n") == 0);
}

TEST_CASE("run once: it gives up at once when told to stop") {
  const int stop = eventfd(1, EFD_CLOEXEC);
  auto options = shell("sleep 600");
  options.stop_fd = stop;
  const auto result = ran(options);
  close(stop);
  CHECK(result.is_stopped);
}

TEST_CASE("run once: a program that is not there is named") {
  OneShotOptions options;
  options.executable = "/nowhere/collwatch";
  const auto result = run_once(options);
  REQUIRE_FALSE(result.has_value());
  CHECK(result.error().text.find("/nowhere/collwatch") != std::string::npos);
}
