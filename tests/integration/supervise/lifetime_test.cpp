// SPDX-License-Identifier: Apache-2.0
//
// Who may destroy a Worker when, and that nothing is left behind: no descriptor, no zombie, no call
// into a dead object.
#include <unistd.h>

#include <array>

#include "tests/integration/supervise/zoo.h"

using namespace zoo;

namespace {

/// Handlers that count every call and destroy the worker in the `fatal_call`th.
struct Suicidal {
  std::unique_ptr<Worker> worker;
  int fatal_call = 1;
  int calls = 0;
  int ended = 0;

  void start(EventLoop& loop, std::vector<std::string> script) {
    WorkerOptions options;
    options.executable = kFakeWorker;
    options.arguments = std::move(script);
    options.grace = 50ms;
    Worker::Handlers handlers;
    const auto die = [this] {
      if (++calls == fatal_call) worker.reset();
    };
    handlers.message = [die](const wire::FromWorker&) { die(); };
    handlers.protocol_error = [die](const std::string&) { die(); };
    handlers.unreaped = die;
    handlers.ended = [this, die](const ExitFact&) {
      ++ended;
      die();
    };
    auto spawned = Worker::spawn(loop, options, handlers);
    REQUIRE(spawned);
    worker = std::move(*spawned);
  }
};

}  // namespace

TEST_CASE("a handler may destroy the worker, and is not called again") {
  const std::vector<std::vector<std::string>> scripts = {
      {"flood_packets 500", "hang"},                   // from message, with more waiting
      {"garbage_packet", "hello", "hello", "exit 0"},  // from protocol_error
      {"sleep 20", "exit 0"},                          // from ended
      {"flood_packets 100", "crash"},                  // from message, perhaps after death
      {"close_channel", "hang"},                       // from the timer of a closed channel
  };
  for (const auto& script : scripts) {
    auto loop = EventLoop::create().value();
    Suicidal suicidal;
    suicidal.start(*loop, script);
    INFO(script[0]);
    REQUIRE(turn_until(*loop, [&] { return suicidal.calls > 0; }));
    for (int i = 0; i < 10; ++i) REQUIRE(loop->turn(10ms));
    CHECK(suicidal.calls == 1);
    CHECK(turn_until(*loop, [] { return childless(); }));
  }
}

TEST_CASE("a message that is delivered after the death may destroy the worker too") {
  auto loop = EventLoop::create().value();
  Suicidal suicidal;
  // One turn delivers 64; the others come with the end, which is seen in the same turn.
  suicidal.fatal_call = 100;
  suicidal.start(*loop, {"flood_packets 150", "crash"});
  REQUIRE(wait_aside([&] { return dead(suicidal.worker->pid()); }));
  REQUIRE(turn_until(*loop, [&] { return suicidal.worker == nullptr; }));
  for (int i = 0; i < 5; ++i) REQUIRE(loop->turn(5ms));
  CHECK(suicidal.calls == 100);
  CHECK(suicidal.ended == 0);
  CHECK(turn_until(*loop, [] { return childless(); }));
}

TEST_CASE("the unreaped handler may destroy the worker, and nobody is told of the end after that") {
  auto loop = EventLoop::create().value();
  Keeper keeper(*loop);
  auto handlers = keeper.handlers();
  handlers.unreaped = [&] {
    ++keeper.unreaped;
    keeper.worker.reset();
  };
  auto spawned = Worker::spawn(*loop, keeper.options({"traced", "hang"}), handlers);
  REQUIRE(spawned);
  keeper.worker = std::move(*spawned);
  REQUIRE(keeper.until_printed("r"));
  const auto tracer = pids_after("tracer ", keeper.worker->output_tail());
  if (tracer.empty()) {
    WARN("SKIPPED: this kernel does not let a process be traced");
    return;
  }
  REQUIRE(keeper.until<wire::Hello>());
  keeper.worker->kill("stuck");
  REQUIRE(turn_until(*loop, [&] { return keeper.unreaped == 1; }));
  CHECK(keeper.worker == nullptr);
  ::kill(tracer[0], SIGKILL);
  CHECK(turn_until(*loop, [] { return childless(); }));
  CHECK(keeper.ends.empty());
}

TEST_CASE("a handler may start the successor while the old worker is still on the stack") {
  auto loop = EventLoop::create().value();
  Keeper second(*loop);
  std::unique_ptr<Worker> first;
  Worker::Handlers handlers;
  handlers.ended = [&](const ExitFact&) {
    first.reset();
    second.start({"hello", "exit 9"});
  };
  auto spawned = Worker::spawn(*loop, second.options({"exit 1"}), handlers);
  REQUIRE(spawned);
  first = std::move(*spawned);
  REQUIRE(second.until_ended());
  CHECK(second.ends == std::vector<ExitFact>{Exited{9}});
}

TEST_CASE("handlers may be empty") {
  auto loop = EventLoop::create().value();
  WorkerOptions options;
  options.executable = kFakeWorker;
  options.arguments = {"hello", "garbage_packet", "flood_stdout 100000", "exit 1"};
  auto worker = Worker::spawn(*loop, options, {});
  REQUIRE(worker);
  CHECK(turn_until(*loop, [&] { return (*worker)->phase() == WorkerPhase::ended; }));
}

TEST_CASE("a destroyed worker leaves no process, whatever it was doing") {
  auto loop = EventLoop::create().value();
  for (const char* verb : {"hang", "stop_self", "ignore_sigterm; hang", "flood_stdout forever"}) {
    Keeper keeper(*loop);
    keeper.start({"hello", verb});
    REQUIRE(keeper.until<wire::Hello>());
    const pid_t pid = keeper.worker->pid();
    keeper.worker.reset();
    INFO(verb);
    CHECK(turn_until(*loop, [pid] { return dead(pid) && childless(); }));
    CHECK(keeper.ends.empty());
  }
}

TEST_CASE("workers die with a daemon that dies without a word, by death signal or closed channel") {
  for (const char* verb : {"hang", "outlive_parent; serve"}) {
    std::array<int, 2> fds{};
    REQUIRE(pipe(fds.data()) == 0);
    const pid_t daemon = fork();
    if (daemon == 0) {  // no Catch in here: only the numbers of its two workers, then sudden death
      auto loop = EventLoop::create().value();
      std::array<pid_t, 2> pids{};
      std::vector<std::unique_ptr<Worker>> workers;
      for (pid_t& pid : pids) {
        WorkerOptions options;
        options.executable = kFakeWorker;
        options.arguments = {verb};
        workers.push_back(std::move(Worker::spawn(*loop, options, {}).value()));
        pid = workers.back()->pid();
      }
      const bool told = write(fds[1], pids.data(), sizeof pids) == sizeof pids;
      ::kill(getpid(), told ? SIGKILL : SIGABRT);
    }
    std::array<pid_t, 2> pids{};
    REQUIRE(read(fds[0], pids.data(), sizeof pids) == sizeof pids);
    close(fds[0]);
    close(fds[1]);
    REQUIRE(waitpid(daemon, nullptr, 0) == daemon);
    auto loop = EventLoop::create().value();
    INFO(verb);
    for (const pid_t pid : pids) CHECK(turn_until(*loop, [pid] { return dead(pid); }));
  }
}

TEST_CASE("fifty lives of every kind leave no descriptor and no zombie behind") {
  auto loop = EventLoop::create().value();
  const std::vector<std::string> lives = {"exit 0", "crash", "hang", "close_channel; hang",
                                          "garbage_packet; flood_stdout 200000; exit 2"};
  int before = 0;
  for (int cycle = 0; cycle < 50; ++cycle) {
    // The first cycles warm up whatever the libraries keep open.
    if (cycle == static_cast<int>(lives.size())) before = open_descriptors();
    Keeper keeper(*loop);
    const std::string& life = lives[static_cast<std::size_t>(cycle) % lives.size()];
    keeper.start({"hello", life});
    REQUIRE(keeper.until<wire::Hello>());
    if (life.find("hang") != std::string::npos) keeper.worker->kill("test");
    if (cycle % 3 == 0) {
      keeper.worker.reset();
    } else {
      REQUIRE(keeper.until_ended());
    }
  }
  CHECK(open_descriptors() == before);
  CHECK(turn_until(*loop, [] { return childless(); }));
}

TEST_CASE("an ended worker that is kept for its facts leaves nothing armed in the loop") {
  auto loop = EventLoop::create().value();
  Keeper keeper(*loop);
  keeper.grace = 50ms;
  keeper.start({"hello", "close_channel", "hang"});
  REQUIRE(keeper.until<wire::Hello>());
  keeper.worker->kill("test");
  REQUIRE(keeper.until_ended());
  // Past every timer that its life had armed: the only thing that wakes the loop is the marker.
  bool marker = false;
  loop->after(400ms, [&] { marker = true; });
  int turns = 0;
  for (; !marker; ++turns) REQUIRE(loop->turn(10s));
  CHECK(turns <= 2);
  CHECK(keeper.ends.size() == 1);
  CHECK(keeper.worker->phase() == WorkerPhase::ended);
}
