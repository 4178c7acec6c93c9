// SPDX-License-Identifier: Apache-2.0
//
// The agent's line to its worker at the end of its life: a goodbye is an end, not an accident to be
// mended.
#include "daemon/agent/worker_link.h"

#include <sys/stat.h>

#include <cstdlib>
#include <fstream>

#include "tests/integration/supervise/zoo.h"

using namespace collwatch;
using namespace zoo;

namespace {

/// A fake worker under a WorkerLink, which knows no arguments: a shell script adds them, and notes
/// each start.
class Linked {
 public:
  Linked(EventLoop& event_loop, const std::string& script) : loop(event_loop) {
    REQUIRE(mkdtemp(folder_.data()) != nullptr);
    std::ofstream(folder_ + "/worker")
        << "#!/bin/sh\necho started >> " << folder_ << "/starts\nexec " << kFakeWorker << " '"
        << script << "'\n";
    chmod((folder_ + "/worker").c_str(), 0700);
    agent::WorkerLink::Handlers handlers;
    handlers.up = [this] { ++up; };
    handlers.down = [this](model::Reason, const std::string& why) {
      ++down;
      last_why = why;
    };
    handlers.message = [](const wire::FromWorker&) {};
    handlers.unreaped = [](int) {};
    link = std::make_unique<agent::WorkerLink>(loop, folder_ + "/worker", "n0", handlers);
    link->start();
  }
  ~Linked() {
    link.reset();
    for (const char* name : {"/worker", "/starts"}) unlink((folder_ + name).c_str());
    rmdir(folder_.c_str());
  }

  int starts() const {
    std::ifstream file(folder_ + "/starts");
    return static_cast<int>(std::count(std::istreambuf_iterator<char>(file), {}, '\n'));
  }
  bool until(const std::function<bool()>& condition) const { return turn_until(loop, condition); }
  /// Gives whatever would be started the time to start: restarts are due at once at first.
  void turn_on() const {
    for (int i = 0; i < 30; ++i) REQUIRE(loop.turn(10ms));
  }

  EventLoop& loop;
  std::unique_ptr<agent::WorkerLink> link;
  int up = 0;
  int down = 0;
  std::string last_why;

 private:
  std::string folder_ = "/tmp/collwatch-link-XXXXXX";
};

}  // namespace

TEST_CASE("a worker that was asked to stop is not mourned and not replaced") {
  auto loop = EventLoop::create().value();
  Linked linked(*loop, "on stop exit 0; hello; serve");
  REQUIRE(linked.until([&] { return linked.up == 1; }));
  linked.link->ask_to_stop();
  REQUIRE(linked.until(childless));
  linked.turn_on();
  CHECK(linked.starts() == 1);
  CHECK(linked.down == 0);
  CHECK(childless());
}

TEST_CASE("a worker that dies unasked is replaced at once") {
  auto loop = EventLoop::create().value();
  Linked linked(*loop, "hello; await start; sleep 20; exit 3");
  REQUIRE(linked.until([&] { return linked.starts() >= 2; }));
  CHECK(linked.down >= 1);
}

TEST_CASE("a hang is named by the last phase that was announced") {
  auto loop = EventLoop::create().value();
  Linked linked(*loop, "hello; phase edge:n1 connect; hang");
  REQUIRE(linked.until([&] { return linked.up == 1; }));
  linked.link->round({1, 500, {}}, 1.0);
  REQUIRE(linked.until([&] { return linked.down == 1; }));
  CHECK(linked.last_why == "the Gloo worker stopped answering; last phase: connect of edge:n1");
}

TEST_CASE("a goodbye between two lives calls the next one off") {
  auto loop = EventLoop::create().value();
  Linked linked(*loop, "exit 3");
  // Two deaths in a row: the third start is waiting for its time.
  REQUIRE(linked.until([&] { return linked.starts() >= 2 && linked.down >= 2 && childless(); }));
  const int before = linked.starts();
  linked.link->ask_to_stop();
  const auto past_the_delay = Clock::now() + 3s;
  REQUIRE(linked.until([&] { return Clock::now() > past_the_delay; }));
  CHECK(linked.starts() == before);
  CHECK(childless());
}

TEST_CASE("a worker that does not listen is gone when the link is") {
  auto loop = EventLoop::create().value();
  Linked linked(*loop, "ignore_sigterm; hello; hang");
  REQUIRE(linked.until([&] { return linked.up == 1; }));
  linked.link->ask_to_stop();
  linked.turn_on();
  linked.link->stop();
  CHECK(linked.link->state() == model::WorkerState::absent);
  CHECK(linked.until(childless));
  CHECK(linked.starts() == 1);
}
