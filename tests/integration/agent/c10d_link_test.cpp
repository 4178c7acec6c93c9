// SPDX-License-Identifier: Apache-2.0
//
// The agent's look at libtorch: once, when rounds are calm, taken away when they are not. The
// probes here are shell scripts that speak the channel's JSON.
#include "daemon/agent/c10d_link.h"

#include <sys/stat.h>

#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <functional>
#include <iterator>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "tests/integration/supervise/zoo.h"

using namespace collwatch;
using namespace zoo;

namespace {

const std::string kVersions = R"(say '{"type":"c10d_versions","v":1,"torch":"9.8.7"}')";
const std::string kDone = R"(say '{"type":"c10d_done","wall_ms":1,"cpu_ms":2,"rss_kb":3}')";

std::string cell(const std::string& op, const std::string& device, const std::string& end) {
  return R"(say '{"type":"c10d_cell","op":")" + op +
         R"(","dtype":"int8","reduce_op":"","device":")" + device + R"(","end":")" + end +
         R"(","text":"words of )" + end + R"("}')";
}

class Linked {
 public:
  Linked(EventLoop& event_loop, const std::string& script) : loop(event_loop) {
    REQUIRE(mkdtemp(folder_.data()) != nullptr);
    std::ofstream(path("probe")) << "#!/bin/bash\nsay() { printf '%s' \"$1\" >&3; }\n"
                                 << "echo started >>" << path("starts") << "\n"
                                 << script << "\n";
    chmod(path("probe").c_str(), 0700);
    options.executable = path("probe");
    options.check_every = 10ms;
    options.calm_checks = 3;
    options.most_checks = 1000;
  }
  ~Linked() {
    link.reset();
    for (const char* name : {"probe", "starts"}) unlink(path(name).c_str());
    rmdir(folder_.c_str());
  }

  void start() {
    agent::C10dLink::Handlers handlers;
    handlers.is_calm = [this] {
      ++asked;
      return is_calm;
    };
    handlers.skipped = [this](model::SkipReason reason, const std::string& why) {
      skipped = reason;
      why_skipped = why;
    };
    handlers.done = [this](const exporters::C10d&) { ++done; };
    link = std::make_unique<agent::C10dLink>(loop, options, handlers);
    link->start();
  }
  std::string path(const std::string& name) const { return folder_ + "/" + name; }
  long starts() const {
    std::ifstream file(path("starts"));
    const std::string text{std::istreambuf_iterator<char>(file), {}};
    return std::count(text.begin(), text.end(), '\n');
  }
  bool until(const std::function<bool()>& condition) const { return turn_until(loop, condition); }

  EventLoop& loop;
  agent::C10dLink::Options options;
  std::unique_ptr<agent::C10dLink> link;
  bool is_calm = true;
  int asked = 0;
  int done = 0;
  std::optional<model::SkipReason> skipped;
  std::string why_skipped;

 private:
  std::string folder_ = "/tmp/collwatch-c10dlink-XXXXXX";
};

}  // namespace

TEST_CASE("what the probe told is known afterwards, and it is not started again") {
  auto loop = EventLoop::create().value();
  Linked linked(*loop, kVersions + "\n" + cell("all_reduce", "cpu", "ok") + "\n" +
                           cell("gather", "cpu", "refused") + "\n" +
                           cell("scatter", "cpu", "refused") + "\n" +
                           cell("reduce", "cpu", "wrong_values") + "\n" +
                           cell("reduce", "meta", "crash") + "\n" +
                           cell("broadcast", "cuda", "crash") + "\n" +
                           R"(say '{"type":"c10d_store","store":"tcp","end":"refused",)"
                           R"("duration_us":1,"text":"no libuv"}')" +
                           "\n" + kDone);
  linked.start();
  CHECK(linked.link->shown().state == "waiting");
  REQUIRE(linked.until([&] { return linked.done == 1; }));
  const exporters::C10d& known = linked.link->shown();
  CHECK(known.state == "done");
  CHECK(known.torch == "9.8.7");
  REQUIRE(known.unsupported.size() == 1);
  CHECK(known.unsupported[0].text == "words of refused");
  CHECK(known.unsupported[0].calls ==
        std::vector<std::string>{"gather int8 on cpu", "scatter int8 on cpu"});
  REQUIRE(known.wrong_values.size() == 1);
  CHECK(known.wrong_values[0].calls == std::vector<std::string>{"reduce int8 on cpu"});
  REQUIRE(known.crashes.size() == 1);
  CHECK(known.crashes[0].calls == std::vector<std::string>{"broadcast int8 on cuda"});
  CHECK(known.stores == std::vector<std::string>{"tcp: refused no libuv"});
  CHECK_FALSE(linked.skipped);
  const int asked = linked.asked;
  turn_until(
      *loop, [] { return false; }, 100ms);
  CHECK(linked.asked == asked);
  CHECK(linked.starts() == 1);
  CHECK(childless());
}

TEST_CASE("a program that is not there is skipped as not installed") {
  auto loop = EventLoop::create().value();
  Linked linked(*loop, "");
  linked.options.executable = linked.path("nothing");
  linked.start();
  CHECK(linked.skipped == model::SkipReason::not_installed);
  CHECK(linked.link->shown().state == "skipped");
}

TEST_CASE("a program whose libtorch is not there is skipped as not installed") {
  auto loop = EventLoop::create().value();
  Linked linked(*loop, "echo 'libtorch.so: cannot open shared object file' >&2\nexit 127");
  linked.start();
  REQUIRE(linked.until([&] { return linked.skipped.has_value(); }));
  CHECK(linked.skipped == model::SkipReason::not_installed);
  CHECK(linked.why_skipped.find("libtorch.so") != std::string::npos);
}

TEST_CASE("nothing is started while rounds suffer") {
  auto loop = EventLoop::create().value();
  Linked linked(*loop, kVersions + "\n" + kDone);
  linked.is_calm = false;
  linked.start();
  REQUIRE(linked.until([&] { return linked.asked > 8; }));
  CHECK(linked.starts() == 0);
  linked.is_calm = true;
  REQUIRE(linked.until([&] { return linked.done == 1; }));
}

TEST_CASE("it is taken away when rounds suffer, tried again, and given up in the end") {
  auto loop = EventLoop::create().value();
  Linked linked(*loop, kVersions + "\nsleep 600");
  linked.options.most_starts = 2;
  linked.start();
  REQUIRE(linked.until([&] { return linked.link->shown().torch == "9.8.7"; }));
  linked.is_calm = false;
  REQUIRE(linked.until([&] { return linked.link->shown().state == "waiting"; }));
  CHECK(linked.link->shown().text == "put off: rounds suffered");
  CHECK(childless());
  linked.is_calm = true;
  REQUIRE(linked.until([&] { return linked.link->shown().torch == "9.8.7"; }));
  linked.is_calm = false;
  REQUIRE(linked.until([&] { return linked.skipped.has_value(); }));
  CHECK(linked.skipped == model::SkipReason::unavailable);
  CHECK(linked.starts() == 2);
  CHECK(linked.done == 0);
}

TEST_CASE("one that never ends is ended, and one that dies or lies is given up") {
  for (const std::string script : {"sleep 600", "kill -SEGV $$", "say garbage; sleep 600"}) {
    INFO(script);
    auto loop = EventLoop::create().value();
    Linked linked(*loop, script);
    linked.options.most_checks = 20;
    linked.start();
    REQUIRE(linked.until([&] { return linked.skipped.has_value(); }));
    CHECK(linked.skipped == model::SkipReason::unavailable);
    CHECK_FALSE(linked.why_skipped.empty());
    CHECK(childless());
  }
}
