// SPDX-License-Identifier: Apache-2.0
//
// When the agent runs its NCCL probe, how long it waits for one, what it believes, and whom it meets.
// The probes here are shell scripts that speak the channel's JSON, other members are the test.
#include "daemon/agent/nccl_link.h"

#include <sys/stat.h>

#include <algorithm>
#include <fstream>
#include <functional>
#include <iterator>
#include <memory>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "tests/integration/supervise/zoo.h"

using namespace collwatch;
using namespace zoo;
using agent::NcclLink;
using model::Fingerprint;
using model::Outcome;
using model::SkipReason;

namespace {

const std::string kPrepared =
    R"(hear; say '{"type":"nccl_prepared","library":"/l","note":"","nccl":"2.28.9","cuda":"13.0",)"
    R"("driver":"13.0","devices":[{"bus":"b","name":"g","free_bytes":5,"troubles":[]}],)"
    R"("ids":[")" +
    std::string(256, '6') + R"(",")" + std::string(256, '7') + R"("]}'; hear; )";
const std::string kConnects =
    R"(say '{"type":"nccl_phase","scope":"local","phase":"connect"}'; )";
const std::string kDone = R"(say '{"type":"nccl_done","rung":"local"}'; hear)";

std::string report(const std::string& outcome, const std::string& fingerprint) {
  return R"(say '{"type":"nccl_report","round":1,"rung":"local","phase":"collective",)"
         R"("collective":"allreduce","size_bytes":4,"ranks":1,"outcome":")" +
         outcome + R"(","fingerprint":")" + fingerprint +
         R"(","duration_us":5,"device_us":2,"text":"words"}'; )";
}

class Linked {
 public:
  explicit Linked(EventLoop& event_loop, const std::string& script) : loop(event_loop) {
    REQUIRE(mkdtemp(folder_.data()) != nullptr);
    becomes(script);
    config.node = "a";
    config.membership.members.resize(1);
    config.membership.members[0].name = "a";
    config.nccl.mode = "idle";
    config.nccl.interval = 1s;  // a round
    config.nccl.timeout = 5s;
    jobs.known = true;
    surroundings.self = "a";
    surroundings.round = [this] { return round; };
    surroundings.identity = [] { return peer::Identity{}; };
    link = std::make_unique<NcclLink>(surroundings, "i", path("probe"), handlers());
  }
  ~Linked() {
    link.reset();
    for (const char* name : {"probe", "starts", "tracer", "heard"}) unlink(path(name).c_str());
    rmdir(folder_.c_str());
  }

  void becomes(const std::string& script) const {
    std::ofstream(path("probe"))
        << "#!/bin/bash\nsay() { printf '%s' \"$1\" >&3; }\n"
        << "hear() { dd bs=65536 count=1 <&3 >>" << path("heard") << " 2>/dev/null; }\n"
        << "echo started >>" << path("starts") << "\n"
        << script << "\n";
    chmod(path("probe").c_str(), 0700);
  }
  /// The next round; what becomes due in it is begun.
  void turn() { link->on_round(++round, eligible, "v"); }
  /// A round in which a probe starts, and all that comes of it.
  bool probe() {
    const long before = starts();
    turn();
    return until([&] { return starts() > before && childless(); });
  }
  std::string path(const std::string& name) const { return folder_ + "/" + name; }
  std::string text_of(const std::string& name) const {
    std::ifstream file(path(name));
    return {std::istreambuf_iterator<char>(file), {}};
  }
  long starts() const {
    const std::string text = text_of("starts");
    return std::count(text.begin(), text.end(), '\n');
  }
  bool until(const std::function<bool()>& condition) const { return turn_until(loop, condition); }
  long count(Outcome outcome) const { return std::count(ran.begin(), ran.end(), outcome); }

  EventLoop& loop;
  config::Config config;
  agent::PeerLinkSurroundings surroundings{loop, config};
  std::int64_t round = 0;
  std::vector<std::string> eligible{"a"};
  NcclLink::Jobs jobs;
  std::vector<Outcome> ran;
  std::vector<SkipReason> skipped;
  std::vector<Fingerprint> found;
  std::vector<std::string> notes;
  int unreaped = 0;
  std::unique_ptr<NcclLink> link;

 private:
  NcclLink::Handlers handlers() {
    NcclLink::Handlers h;
    h.jobs = [this] { return jobs; };
    h.ran = [this](const exporters::CollectiveResult& result) { ran.push_back(result.outcome); };
    h.skipped = [this](SkipReason reason) { skipped.push_back(reason); };
    h.note = [this](const std::string& state, const std::string& text) {
      notes.push_back(state + ": " + text);
    };
    h.found = [this](Fingerprint id) { found.push_back(id); };
    h.unreaped = [this](int count) { unreaped = count; };
    return h;
  }
  std::string folder_ = "/tmp/collwatch-nccllink-XXXXXX";
};

const std::string kWell = kPrepared + kConnects + report("ok", "none") + kDone;
const std::string kBad = kPrepared + report("data_corruption", "data_corruption");

}  // namespace

TEST_CASE("a probe that is well leaves its outcome, its versions and nothing else") {
  auto loop = EventLoop::create().value();
  Linked linked(*loop, kWell);
  REQUIRE(linked.probe());
  CHECK(linked.ran == std::vector<Outcome>{Outcome::ok});
  CHECK(linked.link->nccl_version() == "2.28.9");
  CHECK(linked.skipped.empty());
  CHECK(!linked.link->believed());
  CHECK(linked.text_of("heard").find("nccl_stop") != std::string::npos);
}

TEST_CASE("never by default, and not where a job runs or nobody knows") {
  auto loop = EventLoop::create().value();
  Linked linked(*loop, kWell);
  linked.config.nccl.mode = "never";
  linked.turn();
  CHECK(linked.skipped.empty());
  linked.config.nccl.mode = "idle";
  linked.jobs.running = true;
  linked.turn();
  CHECK(linked.skipped == std::vector<SkipReason>{SkipReason::job_running});
  linked.jobs = {};
  linked.turn();
  CHECK(linked.skipped.back() == SkipReason::unavailable);
  CHECK(childless());
  CHECK(linked.starts() == 0);
  linked.config.nccl.mode = "always";
  CHECK(linked.probe());
  CHECK(linked.count(Outcome::ok) == 1);
}

TEST_CASE("preflight is once, at a round that all members find") {
  auto loop = EventLoop::create().value();
  Linked linked(*loop, kWell);
  linked.config.nccl.mode = "preflight";
  while (linked.round < 9) linked.turn();
  CHECK(linked.starts() == 0);
  CHECK(childless());
  CHECK(linked.probe());
  CHECK(linked.round == 10);
  CHECK(linked.count(Outcome::ok) == 1);
  while (linked.round < 30) linked.turn();
  CHECK(childless());
  CHECK(linked.starts() == 1);
}

TEST_CASE("a preflight that failed is tried once more") {
  auto loop = EventLoop::create().value();
  Linked linked(*loop, kBad);
  linked.config.nccl.mode = "preflight";
  for (int i = 0; i < 2; ++i) {
    while (linked.round % 10 != 9) linked.turn();
    REQUIRE(linked.probe());
  }
  CHECK(linked.link->believed());
  while (linked.round < 50) linked.turn();
  CHECK(childless());
  CHECK(linked.starts() == 2);
  CHECK(linked.link->believed());
  linked.jobs.running = true;
  linked.turn();
  CHECK(!linked.link->believed());
}

TEST_CASE("a probe on the GPUs is ended when a job starts, and that is no failure") {
  auto loop = EventLoop::create().value();
  Linked linked(*loop, kPrepared + kConnects + "sleep 100");
  linked.turn();
  REQUIRE(linked.until([&] { return linked.text_of("heard").find("nccl_run") != std::string::npos; }));
  linked.jobs.running = true;
  linked.turn();
  REQUIRE(linked.until(childless));
  CHECK(linked.skipped == std::vector<SkipReason>{SkipReason::job_running});
  CHECK(linked.ran.empty());
}

TEST_CASE("a failure is believed when it came twice in a row, and until one is well") {
  auto loop = EventLoop::create().value();
  Linked linked(*loop, kBad);
  REQUIRE(linked.probe());
  CHECK(!linked.link->believed());
  CHECK(linked.found.empty());
  REQUIRE(linked.probe());
  REQUIRE(linked.link->believed());
  CHECK(linked.link->believed()->fingerprint == Fingerprint::data_corruption);
  CHECK(linked.link->believed()->text.find("allreduce of 4 bytes") == 0);
  REQUIRE(linked.probe());
  CHECK(linked.found == std::vector<Fingerprint>{Fingerprint::data_corruption});
  linked.becomes(kWell);
  REQUIRE(linked.probe());
  CHECK(!linked.link->believed());
  linked.becomes(kBad);
  REQUIRE(linked.probe());
  CHECK(!linked.link->believed());
}

TEST_CASE("a job that starts ends what is believed") {
  auto loop = EventLoop::create().value();
  Linked linked(*loop, kBad);
  REQUIRE(linked.probe());
  REQUIRE(linked.probe());
  REQUIRE(linked.link->believed());
  linked.jobs.running = true;
  linked.turn();
  CHECK(!linked.link->believed());
}

TEST_CASE("one that falls silent is ended at its deadline and named by its last phase") {
  auto loop = EventLoop::create().value();
  Linked linked(*loop, kPrepared + kConnects + "trap '' TERM; while :; do sleep 1; done");
  linked.config.nccl.timeout = 100ms;
  REQUIRE(linked.probe());
  CHECK(linked.ran == std::vector<Outcome>{Outcome::worker_stuck});
  REQUIRE(linked.probe());
  REQUIRE(linked.link->believed());
  CHECK(linked.link->believed()->fingerprint == Fingerprint::nccl_init_failed);
  CHECK(linked.link->believed()->text.find("connect of local") != std::string::npos);
}

TEST_CASE("one that does not end after its stop is ended, and that is no failure") {
  auto loop = EventLoop::create().value();
  Linked linked(*loop, kWell + "; trap '' TERM; while :; do sleep 1; done");
  REQUIRE(linked.probe());
  CHECK(linked.ran == std::vector<Outcome>{Outcome::ok});
}

TEST_CASE("one that crashes, lies or talks nonsense is a failure in its own words") {
  auto loop = EventLoop::create().value();
  Linked linked(*loop, kPrepared + kConnects + "echo what it printed; kill -ABRT $$");
  REQUIRE(linked.probe());
  linked.becomes(kPrepared + "say nonsense; sleep 100");
  REQUIRE(linked.probe());
  linked.becomes(R"(hear; say '{"type":"nccl_prepared","library":"/l","note":"","nccl":"2",)"
                 R"("cuda":"","driver":"","devices":[],"ids":[]}'; sleep 100)");
  REQUIRE(linked.probe());
  CHECK(linked.count(Outcome::worker_crash) == 3);
  CHECK(std::any_of(linked.notes.begin(), linked.notes.end(), [](const std::string& note) {
    return note.find("it printed: what it printed") != std::string::npos &&
           note.find("connect of local") != std::string::npos;
  }));
}

TEST_CASE("a worker that is not there is skipped as not installed") {
  auto loop = EventLoop::create().value();
  Linked linked(*loop, "");
  unlink(linked.path("probe").c_str());
  linked.turn();
  REQUIRE(linked.until([&] { return !linked.skipped.empty() || !linked.ran.empty(); }));
  CHECK(linked.skipped == std::vector<SkipReason>{SkipReason::not_installed});
}

TEST_CASE("while one that not even SIGKILL ends is there, it is counted and no other starts") {
  auto loop = EventLoop::create().value();
  Linked linked(*loop, "");
  linked.becomes("exec " + kFakeWorker + " traced hang >" + linked.path("tracer"));
  linked.config.nccl.timeout = 100ms;
  linked.turn();
  REQUIRE(linked.until([&] { return !linked.ran.empty(); }));
  const std::vector<pid_t> tracer = pids_after("tracer ", linked.text_of("tracer"));
  if (tracer.empty()) {
    WARN("SKIPPED: this kernel does not let a process be traced");
    return;
  }
  REQUIRE(linked.until([&] { return linked.unreaped == 1; }));
  CHECK(linked.count(Outcome::ok) == 0);
  linked.turn();
  CHECK(linked.skipped == std::vector<SkipReason>{SkipReason::unavailable});
  CHECK(linked.starts() == 1);
  ::kill(tracer[0], SIGKILL);
  REQUIRE(linked.until([&] { return linked.unreaped == 0; }));
  linked.becomes(kWell);
  linked.config.nccl.timeout = 5s;
  REQUIRE(linked.probe());
  CHECK(linked.count(Outcome::ok) == 1);
}

namespace {

/// Two members, of which the link's is the host; its own GPUs are well, and it waits for others.
class Meeting : public Linked {
 public:
  explicit Meeting(EventLoop& event_loop)
      : Linked(event_loop, kWell + R"(; say '{"type":"nccl_done","rung":"rail"}'; hear)") {
    config.membership.members.resize(2);
    config.membership.members[1].name = "b";
    eligible = {"a", "b"};
    turn();
    REQUIRE(until([&] { return count(Outcome::ok) == 1; }));
    turn_until(
        loop, [] { return false; }, 100ms);  // for the word that this rung is over
    for (int i = 0; i < 11; ++i) turn();     // two timeouts of 5 s, and one
  }
  void ask(const std::string& name, decltype(peer::Request::body) body) {
    peer::Request request;
    request.from.name = name;
    request.body = std::move(body);
    REQUIRE(NcclLink::is_about(request));
    link->on_request(request, [this](const peer::Reply& reply) { replies.push_back(reply); });
  }
  bool until_replies(std::size_t number) {
    return until([&, number] { return replies.size() == number; });
  }
  std::vector<peer::Reply> replies;
};

wire::Blob facts_with(const std::string& nccl) {
  wire::NcclFacts facts;
  facts.nccl = nccl;
  facts.cuda = facts.driver = "13.0";
  facts.devices = 1;
  facts.ids.assign(wire::kNcclIds, wire::Blob(wire::kNcclIdBytes, 'b'));
  return wire::encode_facts(facts);
}

}  // namespace

TEST_CASE("members meet, hand round their facts, and climb") {
  auto loop = EventLoop::create().value();
  Meeting meeting(*loop);
  meeting.ask("b", peer::MeetGroup{"nccl-v", ""});
  REQUIRE(meeting.until_replies(1));
  const auto* fixed = std::get_if<peer::GroupFixed>(&meeting.replies[0].body);
  REQUIRE(fixed != nullptr);
  CHECK(fixed->members == std::vector<std::string>{"a", "b"});
  meeting.ask("b", peer::MeetGroupBlob{fixed->context_id, facts_with("2.28.9")});
  REQUIRE(meeting.until_replies(2));
  CHECK(std::holds_alternative<peer::GroupMet>(meeting.replies[1].body));
  REQUIRE(meeting.until(childless));
  CHECK(meeting.text_of("heard").find(R"("rung":"rail")") != std::string::npos);
  CHECK(meeting.skipped.empty());
  CHECK(meeting.link->odd_ones().empty());
}

TEST_CASE("a member with another NCCL is named, and nothing is run with it") {
  auto loop = EventLoop::create().value();
  Meeting meeting(*loop);
  meeting.ask("b", peer::MeetGroup{"nccl-v", ""});
  REQUIRE(meeting.until_replies(1));
  const auto* fixed = std::get_if<peer::GroupFixed>(&meeting.replies[0].body);
  REQUIRE(fixed != nullptr);
  meeting.ask("b", peer::MeetGroupBlob{fixed->context_id, facts_with("2.27.7")});
  REQUIRE(meeting.until(childless));
  CHECK(meeting.count(Outcome::mismatch) == 1);
  CHECK(meeting.text_of("heard").find(R"("rung":"rail")") == std::string::npos);
  REQUIRE(!meeting.link->odd_ones().empty());
  // Who was away may have been repaired.
  meeting.eligible = {"a"};
  meeting.turn();
  const auto& odd = meeting.link->odd_ones();
  CHECK(std::find(odd.begin(), odd.end(), "b") == odd.end());
}

TEST_CASE("a meeting with strangers, or with facts that are none, is left") {
  auto loop = EventLoop::create().value();
  for (const bool is_stranger : {true, false}) {
    INFO(is_stranger);
    Meeting meeting(*loop);
    const std::string name = is_stranger ? "x" : "b";
    meeting.ask(name, peer::MeetGroup{"nccl-v", ""});
    REQUIRE(meeting.until_replies(1));
    const auto* fixed = std::get_if<peer::GroupFixed>(&meeting.replies[0].body);
    REQUIRE(fixed != nullptr);
    const wire::Blob blob = is_stranger ? facts_with("2.28.9") : wire::Blob{'{', '}'};
    meeting.ask(name, peer::MeetGroupBlob{fixed->context_id, blob});
    REQUIRE(meeting.until(childless));
    CHECK(meeting.skipped == std::vector<SkipReason>{SkipReason::unavailable});
    CHECK(meeting.text_of("heard").find(R"("rung":"rail")") == std::string::npos);
    CHECK(meeting.link->odd_ones().empty());
  }
}
