// SPDX-License-Identifier: Apache-2.0
//
// The kill ladder on workers that do not want to die, and what becomes of those they brought along.
#include "tests/integration/supervise/zoo.h"

using namespace zoo;

TEST_CASE("SIGTERM ends a worker that hangs, and the reason is kept") {
  auto loop = EventLoop::create().value();
  Keeper keeper(*loop);
  keeper.grace = 10s;  // so that only SIGTERM can be what did it
  keeper.start({"hello", "hang"});
  REQUIRE(keeper.until<wire::Hello>());
  keeper.worker->kill("no acknowledgement of round 12");
  CHECK(keeper.worker->phase() == WorkerPhase::terminating);
  keeper.worker->kill("and again");
  CHECK(keeper.worker->kill_reason() == "no acknowledgement of round 12");
  REQUIRE(keeper.until_ended());
  CHECK(keeper.ends == std::vector<ExitFact>{KilledByUs{SIGTERM}});
  CHECK(keeper.unreaped == 0);
  CHECK(childless());
}

TEST_CASE("a worker that answers SIGTERM by exiting was still killed by us") {
  auto loop = EventLoop::create().value();
  Keeper keeper(*loop);
  keeper.grace = 10s;
  keeper.start({"hello", "serve"});
  REQUIRE(keeper.until<wire::Hello>());
  keeper.worker->kill("reload");
  REQUIRE(keeper.until_ended());
  CHECK(keeper.ends == std::vector<ExitFact>{KilledByUs{SIGTERM}});
}

TEST_CASE("SIGKILL follows for those that ignore SIGTERM, are stopped, or print without end") {
  for (const char* verb : {"hang", "stop_self", "flood_stdout forever", "serve"}) {
    auto loop = EventLoop::create().value();
    Keeper keeper(*loop);
    keeper.start({"ignore_sigterm", "hello", verb});
    INFO(verb);
    REQUIRE(keeper.until<wire::Hello>());
    keeper.worker->kill("test");
    REQUIRE(turn_until(*loop, [&] { return keeper.worker->phase() != WorkerPhase::terminating; }));
    REQUIRE(keeper.until_ended());
    CHECK(keeper.ends == std::vector<ExitFact>{KilledByUs{SIGKILL}});
    CHECK(keeper.unreaped == 0);
    CHECK(childless());
  }
}

TEST_CASE("a stopped worker that does not ignore SIGTERM needs SIGKILL all the same") {
  auto loop = EventLoop::create().value();
  Keeper keeper(*loop);
  keeper.start({"hello", "stop_self"});
  REQUIRE(keeper.until<wire::Hello>());
  REQUIRE(wait_aside([&] { return state_of(keeper.worker->pid()) == 'T'; }));
  keeper.worker->kill("stopped");
  REQUIRE(keeper.until_ended());
  CHECK(keeper.ends == std::vector<ExitFact>{KilledByUs{SIGKILL}});
}

TEST_CASE("its own death is never booked as our kill") {
  auto loop = EventLoop::create().value();
  Keeper keeper(*loop);
  keeper.start({"hello", "crash"});
  // Dead, but the loop has not turned since: kill() comes too late.
  REQUIRE(wait_aside([&] { return dead(keeper.worker->pid()); }));
  keeper.worker->kill("too late");
  CHECK(keeper.worker->phase() == WorkerPhase::starting);
  REQUIRE(keeper.until_ended());
  CHECK(keeper.ends == std::vector<ExitFact>{Signalled{SIGSEGV, false}});
  CHECK(keeper.worker->kill_reason().empty());
  keeper.worker->kill("long gone");
  CHECK(keeper.worker->phase() == WorkerPhase::ended);
}

TEST_CASE("children in the group die with the worker, however it ends") {
  for (const char* end : {"hang", "exit 0", "crash", "destroyed"}) {
    auto loop = EventLoop::create().value();
    Keeper keeper(*loop);
    const bool hangs = std::string(end) == "hang" || std::string(end) == "destroyed";
    keeper.start(
        {"fork_children 1000", "print forked", "await start", "hello", hangs ? "hang" : end});
    INFO(end);
    REQUIRE(keeper.until_printed("forked"));
    const auto children = pids_after("child ", keeper.worker->output_tail());
    CHECK(children.size() == 64);  // the zoo's cap
    for (const pid_t child : children) CHECK_FALSE(dead(child));

    REQUIRE(keeper.worker->send(wire::Start{}));
    REQUIRE(keeper.until<wire::Hello>());
    if (std::string(end) == "hang") keeper.worker->kill("test");
    if (std::string(end) == "destroyed") keeper.worker.reset();
    if (std::string(end) != "destroyed") REQUIRE(keeper.until_ended());
    for (const pid_t child : children) {
      CHECK(turn_until(*loop, [child] { return dead(child); }));
    }
    CHECK(turn_until(*loop, [] { return childless(); }));
  }
}

TEST_CASE("a child that escaped the group and holds pipe and channel does not delay the end") {
  auto loop = EventLoop::create().value();
  Keeper keeper(*loop);
  keeper.start({"hello", "escape_child", "exit 0"});
  REQUIRE(keeper.until_ended());
  CHECK(keeper.ends == std::vector<ExitFact>{Exited{0}});
  const auto escaped = pids_after("child ", keeper.worker->output_tail());
  REQUIRE(escaped.size() == 1);
  CHECK_FALSE(dead(escaped[0]));
  ::kill(escaped[0], SIGKILL);
}

TEST_CASE("a worker that left its own group is still found") {
  for (const bool stubborn : {false, true}) {
    auto loop = EventLoop::create().value();
    Keeper keeper(*loop);
    if (!stubborn) keeper.grace = 10s;
    keeper.start({stubborn ? "ignore_sigterm" : "print meek", "leave_group", "hello", "hang"});
    REQUIRE(keeper.until<wire::Hello>());
    REQUIRE(keeper.until_printed("child"));
    keeper.worker->kill("test");
    REQUIRE(keeper.until_ended());
    CHECK(keeper.ends == std::vector<ExitFact>{KilledByUs{stubborn ? SIGKILL : SIGTERM}});
    for (const pid_t child : pids_after("child ", keeper.worker->output_tail())) {
      ::kill(child, SIGKILL);  // it is out of the daemon's reach
    }
  }
}

namespace {
/// A worker that stays unreapable after death for as long as the returned process lives; 0 where
/// the kernel does not allow that.
pid_t start_traced(Keeper& keeper) {
  keeper.start({"traced", "hang"});
  REQUIRE(keeper.until<wire::Hello>());
  const auto tracer = pids_after("tracer ", keeper.worker->output_tail());
  if (tracer.empty()) WARN("SKIPPED: this kernel does not let a process be traced");
  return tracer.empty() ? 0 : tracer[0];
}
}  // namespace

TEST_CASE("one that cannot be reaped is reported once, watched on, and ends when it can") {
  auto loop = EventLoop::create().value();
  Keeper keeper(*loop);
  const pid_t tracer = start_traced(keeper);
  if (tracer == 0) return;

  keeper.worker->kill("stuck");
  REQUIRE(turn_until(*loop, [&] { return keeper.unreaped == 1; }));
  CHECK(keeper.worker->phase() == WorkerPhase::unreaped);
  CHECK(keeper.ends.empty());
  // Its pidfd is readable all the while; that must not turn into a busy loop.
  int turns = 0;
  const auto stop = loop->after(300ms, [&] { turns = -turns; });
  while (turns >= 0) {
    REQUIRE(loop->turn(1s));
    turns += turns >= 0 ? 1 : 0;
  }
  loop->cancel(stop);
  CHECK(-turns < 50);

  ::kill(tracer, SIGKILL);
  REQUIRE(keeper.until_ended());
  CHECK(keeper.ends == std::vector<ExitFact>{KilledByUs{SIGKILL}});
  CHECK(keeper.worker->phase() == WorkerPhase::ended);
  CHECK(keeper.unreaped == 1);
  CHECK(childless());
}

TEST_CASE("destroying one that cannot be reaped gives up soon, and the loop reaps it later") {
  auto loop = EventLoop::create().value();
  Keeper keeper(*loop);
  const pid_t tracer = start_traced(keeper);
  if (tracer == 0) return;

  keeper.worker.reset();  // returns, although the process cannot be reaped
  CHECK_FALSE(childless());
  ::kill(tracer, SIGKILL);
  CHECK(turn_until(*loop, [] { return childless(); }));
  CHECK(keeper.ends.empty());
}
