// SPDX-License-Identifier: Apache-2.0
//
// One line, one exit code, for every state a ring can be in.
#include "daemon/cli/check.h"

#include <cstdlib>
#include <ctime>

#include "tests/support/catch.h"

using namespace collwatch;
using cli::Health;
using namespace std::chrono_literals;

namespace {

const cli::WallTime kNow = *cli::parse_time("2026-01-02T12:01:10Z");

cli::StatusReply ring(std::vector<cli::StatusReply::Verdict> verdicts = {}) {
  cli::StatusReply status;
  status.node = "n0";
  status.members = {{"n0", "ok"}, {"n1", "ok"}, {"n2", "ok"}};
  status.edges.resize(2);
  for (auto& edge : status.edges) edge.outcome = "ok";
  status.round_number = 7;
  status.round_age_seconds = 0.4;
  status.verdicts = std::move(verdicts);
  return status;
}

cli::StatusReply::Verdict verdict(const std::string& state, std::chrono::milliseconds old) {
  cli::StatusReply::Verdict v;
  v.kind = "node";
  v.entity = "n2";
  v.reason = "host_stall";
  v.fingerprint = "gloo_collective_timeout";
  v.state = state;
  v.since = kNow - old;
  return v;
}

cli::CheckResult checked(const model::Result<cli::StatusReply>& status) {
  setenv("TZ", "UTC", 1);
  tzset();
  auto result = cli::check(status, kNow);
  CHECK(result.line.size() <= 80);
  CHECK(result.line.find('\n') == std::string::npos);
  return result;
}

}  // namespace

TEST_CASE("a quiet ring is ok") {
  const auto result = checked(ring());
  CHECK(result.health == Health::ok);
  CHECK(result.line == "COLLWATCH OK: All 3 members healthy, round 7, 0.4 s ago.");
}

TEST_CASE("a page is critical and says who, why and since when") {
  const auto result = checked(ring({verdict("page", 7s)}));
  CHECK(result.health == Health::critical);
  CHECK(result.line ==
        "COLLWATCH CRITICAL: node n2 host_stall since 12:01:03 gloo_collective_timeout");
}

TEST_CASE("a ticket is a warning") {
  CHECK(checked(ring({verdict("ticket", 7s)})).health == Health::warning);
}

TEST_CASE("a suspect is a warning once a round has gone by, before that nobody is told") {
  CHECK(checked(ring({verdict("suspect", 300ms)})).health == Health::ok);
  CHECK(checked(ring({verdict("suspect", 1300ms)})).health == Health::ok);
  const auto old = checked(ring({verdict("suspect", 1500ms)}));
  CHECK(old.health == Health::warning);
  CHECK(old.line.find("suspected") != std::string::npos);
}

TEST_CASE("the worst of several decides, and the others are counted") {
  auto other = verdict("ticket", 60s);
  other.entity = "n1";
  const auto result = checked(ring({verdict("page", 7s), other, verdict("suspect", 0s)}));
  CHECK(result.health == Health::critical);
  CHECK(result.line.find("node n2 host_stall (+1)") != std::string::npos);
}

TEST_CASE("who sees nothing says unknown, unless it has a verdict") {
  auto blind = ring();
  for (auto& edge : blind.edges) edge.outcome.reset();
  CHECK(checked(blind).health == Health::unknown);
  for (auto& edge : blind.edges) edge.outcome = "timeout";
  CHECK(checked(blind).health == Health::unknown);
  blind.verdicts = {verdict("page", 7s)};
  CHECK(checked(blind).health == Health::critical);
  auto stuck = ring();
  stuck.round_age_seconds = 300;
  CHECK(checked(stuck).line == "COLLWATCH UNKNOWN: no round for 5 min");
  auto alone = ring();
  alone.edges.clear();
  CHECK(checked(alone).health == Health::ok);
}

TEST_CASE("members with another list are a warning that names them") {
  auto status = ring();
  status.members[1].state = "stale_view";
  status.members[2].state = "stale_view";
  const auto result = checked(status);
  CHECK(result.health == Health::warning);
  CHECK(result.line == "COLLWATCH WARNING: member lists differ: n1 stale_view, n2 stale_view");
}

TEST_CASE("who sees nothing because everybody left says who left") {
  auto pair = ring();
  pair.members = {{"n0", "ok"}, {"n1", "left"}};
  pair.edges.resize(1);
  pair.edges[0].outcome = "peer_lost";
  const auto result = checked(pair);
  CHECK(result.health == Health::unknown);
  CHECK(result.line == "COLLWATCH UNKNOWN: n1 left: nobody else to judge by");
}

TEST_CASE("who sees nothing because its own worker is missing says so first") {
  auto status = ring();
  for (auto& edge : status.edges) edge.outcome.reset();
  status.workers = {{"gloo", "absent", "cannot start /x/collwatch-probe-gloo"}};
  const auto result = checked(status);
  CHECK(result.health == Health::unknown);
  CHECK(result.line.find("this node's gloo worker is absent: cannot start") != std::string::npos);
}

TEST_CASE("no agent is unknown, however long the reason") {
  const std::string text = "no agent answers at http://node:9781: Connection | refused\n";
  const auto result = checked(model::fail(model::ErrorCode::io, text + text));
  CHECK(result.health == Health::unknown);
  CHECK(result.line.size() == 80);
  CHECK(result.line.ends_with("..."));
  CHECK(result.line.find('|') == std::string::npos);
}

TEST_CASE("exit codes are those of the two callers") {
  const auto codes = [](cli::CheckStyle style) {
    std::vector<int> all;
    for (const Health health : {Health::ok, Health::warning, Health::critical, Health::unknown}) {
      all.push_back(cli::exit_code(health, style));
    }
    return all;
  };
  CHECK(codes(cli::CheckStyle::nagios) == std::vector<int>{0, 1, 2, 3});
  CHECK(codes(cli::CheckStyle::npd) == std::vector<int>{0, 1, 1, 2});
}
