// SPDX-License-Identifier: Apache-2.0
//
// The agent's line to its watcher: started when there is something to watch, replaced when it dies,
// lies or falls silent, briefed with what the one before had read. The watchers here are shell
// scripts that speak the channel's JSON; a write to a SOCK_SEQPACKET socket is a packet.
#include "daemon/agent/watch_link.h"

#include <sys/stat.h>

#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <set>

#include "daemon/supervise/sanitizer.h"
#include "tests/integration/supervise/zoo.h"

using namespace collwatch;
using namespace zoo;

namespace {

const std::string kHello = R"(say '{"type":"watch_hello","v":3,"build":"x","pid":1}')";
const std::string kBeat =
    R"(say '{"type":"heartbeat","bytes":10,"skipped":1,"lag":5,"files":2,"waiting":3,)"
    R"("settled_ns":77,"repeats":0,"kernel_sequence":7,"troubles":[],"ras":"not asked: why",)"
    R"("ras_left":["slurm:9"]}')";

std::string beat_with(const std::string& troubles) {
  std::string beat = kBeat;
  return beat.replace(beat.find("[]"), 2, troubles);  // the first list
}

class Linked {
 public:
  explicit Linked(EventLoop& event_loop, const std::string& script) : loop(event_loop) {
    REQUIRE(mkdtemp(folder_.data()) != nullptr);
    // hear: what was said to it, appended to a file; packets come one a read.
    std::ofstream(path("watcher"))
        << "#!/bin/bash\n"
        << "say() { printf '%s' \"$1\" >&3; }\n"
        << "hear() { dd bs=65536 count=1 <&3 >>" << path("heard") << " 2>/dev/null; echo >>"
        << path("heard") << "; }\n"
        << "echo started >>" << path("starts") << "\nlife=$(wc -l <" << path("starts") << ")\n"
        << script << "\n";
    chmod(path("watcher").c_str(), 0700);
    std::ofstream(path("kmsg")) << "";
    agent::WatchLink::Options options;
    options.executable = path("watcher");
    options.node = "n0";
    options.kernel_log = path("kmsg");
    options.silence = 500ms;
    options.first_word = 5s;
    agent::WatchLink::Handlers handlers;
    handlers.up = [this] { ++up; };
    handlers.down = [this](model::Reason reason, const std::string& why) {
      ++down;
      last_reason = reason;
      last_why = why;
    };
    handlers.trouble = [this](const std::string& text) { troubles.push_back(text); };
    handlers.found = [this](const wire::Finding& finding) { found.push_back(finding); };
    handlers.unreaped = [this](int count) { unreaped = count; };
    handlers.jobs = [this](const wire::WatchedJobs& told) { jobs.push_back(told); };
    link = std::make_unique<agent::WatchLink>(loop, options, handlers);
  }
  ~Linked() {
    link.reset();
    for (const char* name : {"watcher", "starts", "heard", "kmsg", "tracer"})
      unlink(path(name).c_str());
    rmdir(folder_.c_str());
  }

  std::string path(const std::string& name) const { return folder_ + "/" + name; }
  static config::Config::Watch wanted(const std::string& glob, bool kernel) {
    config::Config::Watch watch;
    if (!glob.empty()) watch.logs.push_back({glob, 20000000});
    watch.kernel = kernel;
    watch.processes = 0ms;
    return watch;
  }
  std::string heard() const { return text_of("heard"); }
  std::string tracer() const { return text_of("tracer"); }
  long starts() const {
    const std::string text = text_of("starts");
    return std::count(text.begin(), text.end(), '\n');
  }
  bool until(const std::function<bool()>& condition) const { return turn_until(loop, condition); }

  EventLoop& loop;
  std::unique_ptr<agent::WatchLink> link;
  int up = 0;
  int down = 0;
  int unreaped = 0;
  model::Reason last_reason = model::Reason::isolated;
  std::string last_why;
  std::vector<wire::Finding> found;
  std::vector<wire::WatchedJobs> jobs;
  std::vector<std::string> troubles;

 private:
  std::string text_of(const std::string& name) const {
    std::ifstream file(path(name));
    return {std::istreambuf_iterator<char>(file), {}};
  }
  std::string folder_ = "/tmp/collwatch-watch-XXXXXX";
};

const std::string kServe = "while :; do " + kBeat + "; sleep 0.1; done";

}  // namespace

TEST_CASE("nothing to watch, nobody started; the kernel's log that may not be read is told") {
  auto loop = EventLoop::create().value();
  Linked linked(*loop, kHello);
  linked.link->watch(Linked::wanted("", false));
  CHECK(linked.link->shown().sources.empty());
  unlink(linked.path("kmsg").c_str());
  linked.link->watch(Linked::wanted("", true));
  const exporters::Watch shown = linked.link->shown();
  REQUIRE(shown.sources.size() == 1);
  CHECK_FALSE(shown.sources[0].works);
  CHECK(shown.sources[0].text.find("cannot read ") == 0);
  CHECK(childless());
}

TEST_CASE("training jobs arrive, and are forgotten with the watcher that told them") {
  auto loop = EventLoop::create().value();
  Linked linked(
      *loop, "hear; " + kHello + "; hear; " +
                 R"(say '{"type":"watched_jobs","jobs":[{"job":"slurm:1","ranks":[1],"missing":[],)"
                 R"("processes":1,"world_size":2,"backend":"gloo","torch":"","nccl":"",)"
                 R"("cuda":"","stalled":false,"nccl_library":"/l","nccl_pid":7}],"driver":""}'; )" +
                 kBeat + "; sleep 0.3; exit 3");
  config::Config::Watch wanted = Linked::wanted("", false);
  wanted.processes = 4000ms;
  linked.link->watch(wanted);
  REQUIRE(linked.until([&] { return linked.jobs.size() == 2; }));
  REQUIRE(linked.jobs[0].jobs.size() == 1);
  CHECK(linked.jobs[0].jobs[0].job == "slurm:1");
  CHECK(linked.jobs[0].jobs[0].nccl_library == "/l");
  CHECK(linked.jobs[1].jobs.empty());
  CHECK(linked.heard().find("\"processes_ms\":4000") != std::string::npos);
  REQUIRE(linked.link->shown().sources.size() == 1);
  CHECK(linked.link->shown().sources[0].source == model::Source::process);
  linked.link->stop();
  CHECK(linked.until(childless));
}

TEST_CASE("a watcher gets its plan, and what it finds arrives") {
  auto loop = EventLoop::create().value();
  Linked linked(*loop,
                "hear; " + kHello + "; hear; " +
                    R"(say '{"type":"finding","fingerprint":"gloo_peer_lost","source":"log",)"
                    R"("role":"collateral","rank":1,"host":"","job":"","file":"/a","line":3,)"
                    R"("text":"t"}'; )" +
                    kServe);
  linked.link->watch(Linked::wanted("/l/*.log", true));
  REQUIRE(linked.until([&] { return linked.found.size() == 1; }));
  CHECK(linked.found[0].line == 3);
  REQUIRE(linked.until([&] { return linked.link->shown().log_files == 2; }));
  const exporters::Watch shown = linked.link->shown();
  CHECK(shown.log_bytes == 10);
  CHECK(shown.log_lag_bytes == 5);
  CHECK(shown.log_waiting_files == 3);
  CHECK(shown.log_skipped_bytes == 1);
  REQUIRE(shown.sources.size() == 2);
  CHECK(shown.sources[0].works);
  CHECK(shown.sources[1].works);
  CHECK(linked.heard().find("\"glob\":\"/l/*.log\"") != std::string::npos);
  CHECK(linked.heard().find("\"kernel\":true") != std::string::npos);
  linked.link->stop();
  CHECK(linked.until(childless));
}

TEST_CASE("one that dies is replaced, told what it had read, and its counts are kept") {
  auto loop = EventLoop::create().value();
  Linked linked(*loop,
                "hear; " + kHello + R"(; if [ $life = 1 ]; then hear; )" +
                    R"(say '{"type":"file_position","path":"/a","device":1,"inode":2,"offset":33,)"
                    R"("line":4,"head_bytes":5,"head_hash":6}'; )" +
                    R"(say '{"type":"file_position","path":"/b","device":1,"inode":9,"offset":1,)"
                    R"("line":1,"head_bytes":1,"head_hash":6}'; )" +
                    R"(say '{"type":"file_forgotten","device":1,"inode":9}'; )" + kBeat +
                    "; exit 3; fi; hear; hear; " + kServe);
  linked.link->watch(Linked::wanted("/l/*.log", true));
  REQUIRE(linked.until([&] { return linked.up == 2 && linked.link->shown().log_bytes == 20; }));
  CHECK(linked.down == 1);
  CHECK(linked.last_reason == model::Reason::worker_crash);
  CHECK(linked.last_why == "the watcher exited with code 3");
  REQUIRE(
      linked.until([&] { return linked.heard().find("\"kernel_after\":7") != std::string::npos; }));
  CHECK(linked.heard().find("\"offset\":33") != std::string::npos);
  CHECK(linked.heard().find("\"settled_ns\":77") != std::string::npos);
  CHECK(linked.heard().find("\"inode\":9") == std::string::npos);
}

TEST_CASE("whom RAS must not be asked about again is told to the next one") {
  auto loop = EventLoop::create().value();
  Linked linked(*loop, "hear; " + kHello + "; if [ $life = 1 ]; then hear; " + kBeat +
                           "; exit 3; fi; hear; " + kServe);
  config::Config::Watch wanted = Linked::wanted("", false);
  wanted.ras_mode = "safe";
  wanted.ras_address = {"::1", 4711};
  linked.link->watch(wanted);
  REQUIRE(linked.until(
      [&] { return linked.up == 2 && !linked.link->shown().sources[0].text.empty(); }));
  const exporters::WatchedSource shown = linked.link->shown().sources[0];
  CHECK(shown.source == model::Source::ras);
  CHECK(shown.works);
  CHECK(shown.text == "not asked: why");
  const std::string heard = linked.heard();
  CHECK(heard.find(R"("ras_host":"::1","ras_left":[],"ras_mode":"safe","ras_port":4711)") !=
        std::string::npos);
  CHECK(heard.find(R"("ras_left":["slurm:9"])") != std::string::npos);
  linked.link->stop();
  CHECK(linked.until(childless));
}

TEST_CASE("one that holds more memory than its share is replaced, and why is told") {
  if (supervise::kUnderSanitizer) {
    WARN("SKIPPED: what a process holds under a sanitizer means nothing");
    return;
  }
  auto loop = EventLoop::create().value();
  Linked linked(*loop,
                "if [ $life = 1 ]; then fat=$(head -c 50000000 /dev/zero | tr '\\0' x); fi; " +
                    kHello + "; " + kServe);
  linked.link->watch(Linked::wanted("/l/*.log", false));
  REQUIRE(linked.until([&] {
    linked.link->check_memory(40 << 20);
    return linked.up == 2;
  }));
  CHECK(linked.down == 1);
  CHECK(linked.last_reason == model::Reason::worker_crash);
  CHECK(linked.last_why.find("more memory than its share") != std::string::npos);
}

TEST_CASE("one that falls silent is killed and replaced") {
  auto loop = EventLoop::create().value();
  Linked linked(*loop, kHello + "; if [ $life = 1 ]; then kill -STOP $$; fi; " + kServe);
  linked.link->watch(Linked::wanted("/l/*.log", false));
  REQUIRE(linked.until([&] { return linked.up == 2; }));
  CHECK(linked.last_reason == model::Reason::worker_stuck);
  CHECK(linked.last_why == "the watcher fell silent");
  CHECK(linked.down == 1);
}

TEST_CASE("one that says something else is killed and replaced") {
  const std::string words = GENERATE(
      std::string("say garbage"), std::string("say '{\"type\":\"round_ack\",\"number\":1}'"),
      std::string("say '{\"type\":\"watch_hello\",\"v\":9,\"build\":\"x\",\"pid\":1}'"),
      std::string("exec 3>&-; sleep 5"));
  auto loop = EventLoop::create().value();
  Linked linked(*loop,
                "if [ $life = 1 ]; then " + words + "; sleep 5; fi; " + kHello + "; " + kServe);
  linked.link->watch(Linked::wanted("/l/*.log", false));
  REQUIRE(linked.until([&] { return linked.up >= 1 && linked.starts() == 2; }));
  CHECK(linked.down == 1);
  CHECK(linked.last_reason == model::Reason::worker_crash);
}

TEST_CASE(
    "its troubles are shown: a kernel log it cannot read is not watched, one file less is no end") {
  auto loop = EventLoop::create().value();
  Linked linked(*loop, kHello + "; " +
                           beat_with(R"([{"source":"kernel","text":"no right"},)"
                                     R"({"source":"log","text":"open /a: no right"}])") +
                           "; sleep 5");
  linked.link->watch(Linked::wanted("/l/*.log", true));
  REQUIRE(linked.until([&] {
    const auto shown = linked.link->shown();
    return shown.sources.size() == 2 && shown.sources[1].text == "no right";
  }));
  const exporters::Watch shown = linked.link->shown();
  CHECK_FALSE(shown.sources[1].works);
  CHECK(shown.sources[0].works);
  CHECK(shown.sources[0].text == "open /a: no right");
}

TEST_CASE("a trouble is told once, however often it comes, and of very many only some") {
  auto loop = EventLoop::create().value();
  std::string beat = beat_with(R"([{"source":"log","text":"open /log@: no right"},)"
                               R"({"source":"process","text":"@ processes"}])");
  beat.replace(0, beat.find('\''), "beat=");
  Linked linked(*loop, kHello + "; " + beat +
                           R"(; for i in 1 1 1 $(seq 100); do say "${beat//@/$i}"; done; )" +
                           kBeat + "; sleep 5");
  linked.link->watch(Linked::wanted("/l/*.log", false));
  REQUIRE(linked.until([&] {
    const auto shown = linked.link->shown();
    return shown.log_files == 2 && shown.sources[0].text.empty();
  }));
  // A hundred files of which 63 are told, some processes, and that there are more.
  CHECK(linked.troubles.size() == 65);
  const std::set<std::string> distinct(linked.troubles.begin(), linked.troubles.end());
  CHECK(distinct.size() == 65);
  CHECK(linked.troubles.back().find("/api/v1/status") != std::string::npos);
}

TEST_CASE("a program that is not there is told, and tried again later") {
  auto loop = EventLoop::create().value();
  Linked linked(*loop, kHello);
  unlink(linked.path("watcher").c_str());
  linked.link->watch(Linked::wanted("/l/*.log", false));
  const exporters::Watch shown = linked.link->shown();
  REQUIRE(shown.sources.size() == 1);
  CHECK_FALSE(shown.sources[0].works);
  CHECK(shown.sources[0].text.find("No such file") != std::string::npos);
  REQUIRE(linked.troubles.size() == 1);
  CHECK(linked.troubles[0].find("nothing is watched") == 0);
}

TEST_CASE("other fingerprints are another watcher's, which goes on where this one was") {
  auto loop = EventLoop::create().value();
  Linked linked(*loop,
                "hear; " + kHello + R"(; if [ $life = 1 ]; then )" +
                    R"(say '{"type":"file_position","path":"/a","device":1,"inode":2,"offset":33,)"
                    R"("line":4,"head_bytes":5,"head_hash":6}'; )" +
                    kBeat + "; hear; hear; exit 0; fi; hear; hear; " + kServe);
  config::Config::Watch wanted = Linked::wanted("/l/*.log", false);
  wanted.fingerprints = "/first.yaml";
  linked.link->watch(wanted);
  REQUIRE(linked.until([&] { return linked.link->shown().log_bytes == 10; }));
  CHECK(linked.heard().find("\"fingerprints\":\"/first.yaml\"") != std::string::npos);
  SECTION("another file") {
    wanted.fingerprints = "/second.yaml";
  }
  SECTION("another content") {
    wanted.fingerprints_hash = 1;
  }
  linked.link->watch(wanted);
  REQUIRE(linked.until([&] { return linked.up == 2 && linked.link->shown().log_bytes == 20; }));
  CHECK(linked.down == 0);
  REQUIRE(linked.until([&] { return linked.heard().find("\"offset\":33") != std::string::npos; }));
}

TEST_CASE("a plan that changes is told to the watcher that runs; an empty one ends it") {
  auto loop = EventLoop::create().value();
  Linked linked(*loop, kHello + "; hear; hear; " + kBeat + "; hear; " + kServe);
  linked.link->watch(Linked::wanted("/first/*.log", false));
  REQUIRE(linked.until([&] { return linked.heard().find("/first/") != std::string::npos; }));
  linked.link->watch(Linked::wanted("/second/*.log", false));
  REQUIRE(linked.until([&] { return linked.heard().find("/second/") != std::string::npos; }));
  CHECK(linked.up == 1);
  linked.link->watch(Linked::wanted("", false));
  CHECK(linked.until(childless));
  CHECK(linked.link->shown().sources.empty());
  CHECK(linked.down == 0);
}

TEST_CASE("one that not even SIGKILL ends is left behind, its successor keeps off shared files") {
  auto loop = EventLoop::create().value();
  Linked linked(*loop, "if [ $life = 1 ]; then exec " + kFakeWorker + " traced hang >" +
                           "$(dirname $0)/tracer; fi; " + kHello + "; hear; hear; " + kBeat +
                           "; hear; " + kServe);
  linked.link->watch(Linked::wanted("/l/*.log", false));
  REQUIRE(linked.until([&] { return linked.up == 1; }));
  const std::vector<pid_t> tracer = pids_after("tracer ", linked.tracer());
  if (tracer.empty()) {
    WARN("SKIPPED: this kernel does not let a process be traced");
    return;
  }
  CHECK(linked.unreaped == 1);
  REQUIRE(linked.until(
      [&] { return linked.heard().find("\"shared_files\":false") != std::string::npos; }));
  CHECK(linked.link->shown().sources[0].works);
  ::kill(tracer[0], SIGKILL);
  REQUIRE(linked.until(
      [&] { return linked.heard().find("\"shared_files\":true") != std::string::npos; }));
  CHECK(linked.unreaped == 0);
}
