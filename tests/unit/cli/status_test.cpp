// SPDX-License-Identifier: Apache-2.0
//
// What an agent publishes, as the CLI reads and tells it. The JSON comes from the agent's own
// exporter, so that the two cannot drift apart.
#include <cstdlib>
#include <ctime>

#include "daemon/cli/agent_url.h"
#include "daemon/cli/status_text.h"
#include "exporters/json/documents.h"
#include "tests/golden/sample_snapshot.h"
#include "tests/support/catch.h"

using namespace collwatch;

namespace {

cli::StatusReply parsed(const exporters::Snapshot& snapshot) {
  const auto status = cli::parse_status(exporters::status_json(snapshot));
  REQUIRE(status);
  return *status;
}

exporters::Snapshot quiet_snapshot() {
  auto s = test::sample_snapshot();
  s.verdicts.clear();
  s.fingerprints.clear();
  s.local_health = 0;
  for (auto& member : s.members) member.state = model::MemberState::ok;
  for (auto& edge : s.edges) edge.outcome = model::Outcome::ok;
  return s;
}

void use_utc() {
  setenv("TZ", "UTC", 1);
  tzset();
}

const cli::WallTime kNow = test::at_second(5);

}  // namespace

TEST_CASE("everything the agent publishes arrives") {
  const auto s = parsed(test::sample_snapshot());
  CHECK(s.node == "node-a");
  CHECK(s.version == "0.1.0");
  CHECK(s.members.size() == 4);
  CHECK(s.members[2].state == "down");
  CHECK(s.round_number == 402);
  CHECK(s.round_age_seconds == 0.5);
  CHECK(s.local_health == 1);
  REQUIRE(s.edges.size() == 3);
  CHECK(s.edges[0].outcome == "ok");
  CHECK(s.edges[0].heard);
  CHECK(s.edges[1].loss == 1.0);
  CHECK_FALSE(s.edges[2].outcome);
  CHECK_FALSE(s.edges[2].available);
  REQUIRE(s.collectives.size() == 1);
  CHECK(s.collectives[0].size_bytes == 4);
  REQUIRE(s.fingerprints.size() == 1);
  CHECK(s.fingerprints[0].id == "gloo_collective_timeout");
  REQUIRE(s.verdicts.size() == 2);
  CHECK(s.verdicts[0].entity == "node-c");
  CHECK(s.verdicts[0].observers == std::vector<std::string>{"node-a", "node-b"});
  CHECK(s.verdicts[0].since == test::at_second(3, 250));
  CHECK(s.torch == "1.13.0");
  REQUIRE(s.refusals.size() == 1);
  CHECK(s.refusals[0].calls == std::vector<std::string>{"all_reduce int16 SUM on cpu"});
}

TEST_CASE("a quiet ring is one sentence") {
  CHECK(cli::sentence(parsed(quiet_snapshot()), kNow) ==
        "All 4 members healthy, round 402, 0.5 s ago.");
}

TEST_CASE("members that are not well are named even without a verdict") {
  auto s = quiet_snapshot();
  s.members[3].state = model::MemberState::left;
  CHECK(cli::sentence(parsed(s), kNow) ==
        "3 of 4 members healthy (node-d left), round 402, 0.5 s ago.");
  for (auto& edge : s.edges) edge.outcome.reset();
  CHECK(cli::sentence(parsed(s), kNow) ==
        "No exchange yet with any of the 3 peers, round 402, 0.5 s ago.");
}

TEST_CASE("a node without its own worker says so before anything else") {
  use_utc();
  auto s = quiet_snapshot();
  s.workers = {{"gloo", model::WorkerState::absent, "cannot start /x/collwatch-probe-gloo"}};
  const std::string own = "this node's gloo worker is absent: cannot start /x/collwatch-probe-gloo";
  CHECK(cli::sentence(parsed(s), kNow) == own);
  s.verdicts = {test::sample_node_verdict()};
  CHECK(cli::sentence(parsed(s), kNow).find(own + "\nnode node-c is down") == 0);
  s.workers[0].state = model::WorkerState::running;
  CHECK(cli::sentence(parsed(s), kNow).find("node node-c is down") == 0);
}

TEST_CASE("what is not watched is told, and the kernel's log only by those who ask for it") {
  auto s = quiet_snapshot();
  const auto text = [&] { return cli::status_text(parsed(s), kNow, cli::Colour::no); };
  CHECK(text().find("watched") == std::string::npos);
  CHECK(text().find("/dev/kmsg") == std::string::npos);
  s.watch.sources = {{model::Source::log, false, "cannot start /x/collwatch-watch"},
                     {model::Source::process, true, "2 of other users"}};
  CHECK(text().find("\ntraining logs are not watched: cannot start /x/collwatch-watch\n"
                    "training processes are read in part: 2 of other users\n") !=
        std::string::npos);
}

TEST_CASE("each verdict is a sentence, the worst first") {
  use_utc();
  auto s = test::sample_snapshot();
  std::swap(s.verdicts[0], s.verdicts[1]);
  CHECK(cli::sentence(parsed(s), kNow) ==
        "node node-c is down (host_stall), seen by node-a, node-b since 22:13:23: "
        "gloo_collective_timeout [page]\n"
        "link node-d->node-b is broken (unreachable), or it is node-b<->node-d, seen by node-d "
        "since 22:13:24: gloo_collective_timeout [suspect]");
}

TEST_CASE("every kind and reason has its words") {
  const auto words = [](const char* kind, const char* entity, const char* reason) {
    cli::StatusReply::Verdict verdict;
    verdict.kind = kind;
    verdict.entity = entity;
    verdict.reason = reason;
    return cli::accusation(verdict);
  };
  CHECK(words("node", "n2", "slow") == "node n2 is slow (slow)");
  CHECK(words("node", "n2", "worker_crash") == "node n2 lost its probe worker (worker_crash)");
  CHECK(words("node_egress", "n2", "unreachable") == "node_egress n2 is broken (unreachable)");
  CHECK(words("self", "n2", "isolated") == "this node, n2, is cut off (isolated)");
  CHECK(words("misconfig", "n2", "clock_skew") == "node n2 is misconfigured (clock_skew)");
  CHECK(words("partition", "n2,n3", "unreachable") ==
        "partition n2,n3 is cut off from the others (unreachable)");
  CHECK(words("link", "n1<->n2", "lossy") == "link n1<->n2 loses packets (lossy)");
  CHECK(words("new_kind", "x", "new_reason") == "new_kind x is broken (new_reason)");
}

TEST_CASE("the tables show every member, collective and fingerprint") {
  use_utc();
  CHECK(
      cli::status_text(parsed(test::sample_snapshot()), kNow, cli::Colour::no) ==
      R"(node node-c is down (host_stall), seen by node-a, node-b since 22:13:23: gloo_collective_timeout [page]
link node-d->node-b is broken (unreachable), or it is node-b<->node-d, seen by node-d since 22:13:24: gloo_collective_timeout [suspect]

member  state    edge         round trip  witness
node-a  ok       (this node)           -  -
node-b  ok       ok              0.24 ms  heard
node-c  down     timeout               -  silent, 100 % lost
node-d  suspect  -                     -  unavailable

collective      size  outcome     took
gloo allreduce   4 B  ok       0.73 ms

fingerprint              from   since
gloo_collective_timeout  probe  22:13:23

node-a, collwatch 0.1.0, round 402 0.5 s ago, local health 1 of 8 (0 is well): this node doubts its own measurements
)");
}

TEST_CASE("sizes are told in the unit they are whole in, and a barrier has none") {
  auto s = quiet_snapshot();
  auto barrier = s.collectives[0];
  barrier.collective = model::Collective::barrier;
  barrier.size_bytes = 0;
  auto large = s.collectives[0];
  large.size_bytes = 1048576;
  s.collectives = {barrier, large};
  const std::string text = cli::status_text(parsed(s), kNow, cli::Colour::no);
  CHECK(text.find("gloo barrier        -  ok") != std::string::npos);
  CHECK(text.find("gloo allreduce  1 MiB  ok") != std::string::npos);
}

TEST_CASE("colour is only added, and only when asked for") {
  const auto status = parsed(test::sample_snapshot());
  const std::string plain = cli::status_text(status, kNow, cli::Colour::no);
  std::string coloured = cli::status_text(status, kNow, cli::Colour::yes);
  CHECK(plain.find('\033') == std::string::npos);
  CHECK(coloured.find("\033[31mdown\033[0m") != std::string::npos);
  CHECK(coloured.find("\033[32mok\033[0m") != std::string::npos);
  for (std::size_t at = 0; (at = coloured.find('\033')) != std::string::npos;) {
    coloured.erase(at, coloured.find('m', at) + 1 - at);
  }
  CHECK(coloured == plain);
}

TEST_CASE("what is no status is refused in a sentence") {
  const auto said = [](const std::string& json) { return cli::parse_status(json).error().text; };
  const std::string not_one = "the reply is not a collwatch agent's status";
  CHECK(said("") == not_one);
  CHECK(said("<html>") == not_one);
  CHECK(said("[]") == not_one);
  CHECK(said(R"({"schema": 1})") == not_one);
  CHECK(said(R"({"schema": 2, "node": "n"})") ==
        "the agent speaks schema 2, this collwatch only 1: use the agent's version");
  CHECK(said(R"({"schema": 1, "node": 7})").find("the status cannot be read: ") == 0);
  CHECK(said(R"({"schema": 1, "node": "n", "edges": [7]})").find("cannot be read") !=
        std::string::npos);
  CHECK(cli::parse_status(R"({"schema": 1, "node": "n", "news": []})"));
}

TEST_CASE("a hostile agent cannot drive the terminal") {
  auto s = quiet_snapshot();
  s.members[1].name = "\033[2Jx\r\n";
  CHECK(cli::status_text(parsed(s), kNow, cli::Colour::no).find('\033') == std::string::npos);
}

TEST_CASE("an agent is named by URL, host or host and port") {
  CHECK(cli::agent_url("http://n1:9781/") == "http://n1:9781");
  CHECK(cli::agent_url("n1") == "http://n1:9781");
  CHECK(cli::agent_url("n1:80") == "http://n1:80");
  CHECK(cli::agent_url("[fd00::3]") == "http://[fd00::3]:9781");
  CHECK(cli::agent_url("[fd00::3]:80") == "http://[fd00::3]:80");
}

TEST_CASE("an agent's URL with a secret is refused and not repeated") {
  for (const char* url : {"http://u:s3cret@n1:9781", "u:s3cret@n1", "http://u:s3/cr@n1", "u@n1"}) {
    const std::string why = cli::why_refused(url);
    CHECK(why.find("user or a password") != std::string::npos);
    CHECK(why.find("s3") == std::string::npos);
  }
  CHECK(cli::why_refused("http://n1:9781").empty());
  CHECK(cli::why_refused("[fd00::3]:80").empty());
}

TEST_CASE("ages and times are short") {
  use_utc();
  CHECK(cli::age_text(0.44) == "0.4 s");
  CHECK(cli::age_text(300) == "5 min");
  CHECK(cli::age_text(90000) == "25 h");
  CHECK(cli::clock_text(test::at_second(0), test::at_second(1)) == "22:13:20");
  CHECK(cli::clock_text(test::at_second(-86400), test::at_second(1)) == "2023-11-13 22:13:20");
  CHECK(cli::parse_time("2023-11-14T22:13:20.250Z") == test::at_second(0, 250));
  CHECK(cli::parse_time("2023-11-14T22:13:20Z") == test::at_second(0));
  CHECK_FALSE(cli::parse_time("…"));
}
