// SPDX-License-Identifier: Apache-2.0
//
// The agent's looks at a shared folder: with the real probe, and with scripts in its place that
// hang, die or talk nonsense.
#include "daemon/agent/store_link.h"

#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "tests/integration/supervise/zoo.h"

using namespace collwatch;
using namespace zoo;
using model::Outcome;

namespace {

class Linked {
 public:
  explicit Linked(EventLoop& event_loop) : loop(event_loop) {
    REQUIRE(mkdtemp(folder_.data()) != nullptr);
    options.executable = COLLWATCH_BINARY_DIR "/collwatch-probe-store";
    options.folder = folder_;
    options.self = "a";
    options.interval = 20ms;
    options.first_interval = 20ms;
  }
  ~Linked() {
    link.reset();
    std::filesystem::remove_all(folder_);
  }
  void script(const std::string& text) {
    options.executable = folder_ + "/probe";
    std::ofstream(options.executable) << "#!/bin/bash\necho x >>" << folder_ << "/starts\n"
                                      << text << "\n";
    chmod(options.executable.c_str(), 0700);
  }
  void start() {
    agent::StoreLink::Handlers handlers;
    handlers.alive = [this] { return alive; };
    handlers.members = [this] { return members; };
    handlers.looked = [this](Outcome outcome, double) { outcomes.push_back(outcome); };
    handlers.skipped = [this](model::SkipReason reason) { skipped = reason; };
    handlers.unreaped = [](int) {};
    link = std::make_unique<agent::StoreLink>(loop, options, std::move(handlers));
    link->start();
  }
  bool until(std::size_t looks) {
    return turn_until(loop, [&] { return outcomes.size() >= looks; });
  }
  const std::string& folder() const { return folder_; }

  EventLoop& loop;
  agent::StoreLink::Options options;
  std::unique_ptr<agent::StoreLink> link;
  std::set<std::string> alive;
  std::vector<std::string> members;
  std::vector<Outcome> outcomes;
  std::optional<model::SkipReason> skipped;

 private:
  std::string folder_ = "/tmp/collwatch-storelink-XXXXXX";
};

}  // namespace

TEST_CASE("two agents with one folder find each other, one with another folder is named") {
  auto loop = EventLoop::create().value();
  Linked a(*loop);
  Linked b(*loop);
  Linked c(*loop);
  b.options.folder = a.folder();
  b.options.self = "b";
  c.options.self = "c";
  a.members = {"b", "c"};
  b.members = {"a", "c"};
  c.members = {"a", "b"};
  const std::vector<Linked*> ring{&a, &b, &c};
  for (Linked* each : ring) {
    each->alive = {each->members.begin(), each->members.end()};
    each->start();
  }
  const auto all_name_c = [&] {
    return std::all_of(ring.begin(), ring.end(), [](const Linked* each) {
      return each->link->sharing().odd() == std::vector<std::string>{"c"};
    });
  };
  REQUIRE(turn_until(*loop, all_name_c));
  CHECK(a.outcomes.back() == Outcome::mismatch);
  CHECK(std::filesystem::exists(a.folder() + "/.collwatch-b"));
}

TEST_CASE("a look that hangs is given up, counted, and the next one comes") {
  auto loop = EventLoop::create().value();
  Linked hung(*loop);
  hung.script("exec sleep 600");
  hung.options.deadline = 50ms;
  hung.start();
  REQUIRE(hung.until(2));
  CHECK(hung.outcomes[0] == Outcome::timeout);
  CHECK(hung.link->sharing().odd() == std::vector<std::string>{"a"});
  hung.link.reset();
  CHECK(childless());
}

TEST_CASE("a probe that dies, talks nonsense or is not there is no proof of anything but that") {
  auto loop = EventLoop::create().value();
  Linked dying(*loop);
  dying.script("kill -SEGV $$");
  dying.start();
  REQUIRE(dying.until(1));
  CHECK(dying.outcomes[0] == Outcome::worker_crash);
  Linked talking(*loop);
  talking.script("printf nonsense >&3; sleep 600");
  talking.start();
  REQUIRE(talking.until(1));
  CHECK(talking.outcomes[0] != Outcome::ok);
  Linked missing(*loop);
  missing.options.executable = missing.folder() + "/none";
  missing.start();
  CHECK(missing.skipped == model::SkipReason::not_installed);
}

TEST_CASE("of many members the next ones in the ring are read") {
  auto loop = EventLoop::create().value();
  Linked linked(*loop);
  linked.script("printf '%s' \"$3\" >" + linked.folder() + "/asked\nexit 1");
  for (int i = 0; i < 100; ++i) linked.members.push_back("n" + std::to_string(100 + i));
  linked.options.self = "n190";
  linked.members.erase(linked.members.begin() + 90);
  linked.start();
  REQUIRE(linked.until(1));
  std::ifstream file(linked.folder() + "/asked");
  std::string asked;
  std::getline(file, asked);
  CHECK(asked.substr(0, 10) == "n191,n192,");
  CHECK(asked.find("n199,n100,n101") != std::string::npos);
  CHECK(std::count(asked.begin(), asked.end(), ',') == 31);
}
