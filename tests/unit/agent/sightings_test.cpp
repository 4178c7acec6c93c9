// SPDX-License-Identifier: Apache-2.0
//
// How long a finding counts, what makes it a new one, and what the end of a cancelled job is worth.
#include "daemon/agent/sightings.h"

#include <cstdint>

#include "tests/support/catch.h"

using namespace collwatch;
using agent::Sightings;
using model::Fingerprint;
using model::Source;
using namespace std::chrono_literals;

namespace {

wire::Finding finding(Fingerprint id, int rank = -1, std::int64_t line = 1,
                      const std::string& role = "collateral") {
  wire::Finding made;
  made.fingerprint = id;
  made.role = role;
  made.rank = rank;
  made.file = "/l/" + std::to_string(rank) + ".log";
  made.line = line;
  made.text = "text";
  return made;
}

const base::TimePoint kStart{1h};
const exporters::WallTime kWall{};

}  // namespace

TEST_CASE("a finding is active until ten minutes after its last match") {
  Sightings seen;
  CHECK(seen.add(finding(Fingerprint::gloo_peer_lost, 2, 40), kStart, kWall) ==
        Sightings::News::first);
  CHECK(seen.add(finding(Fingerprint::gloo_peer_lost, 2, 41), kStart + 5min, kWall + 5min) ==
        Sightings::News::again);
  const auto active = seen.active(kStart + 14min);
  REQUIRE(active.size() == 1);
  CHECK(active[0].id == Fingerprint::gloo_peer_lost);
  CHECK(active[0].source == Source::log);
  CHECK(active[0].rank == 2);
  CHECK_FALSE(active[0].job);
  CHECK(active[0].since == kWall);
  CHECK(active[0].evidence == std::vector<std::string>{"/l/2.log:40: text", "/l/2.log:41: text"});
  CHECK(seen.active(kStart + 15min).empty());
  CHECK(seen.add(finding(Fingerprint::gloo_peer_lost, 2, 900), kStart + 20min, kWall) ==
        Sightings::News::first);
}

TEST_CASE("the same line told twice is no news, the same words of a later job are") {
  Sightings seen;
  const auto add = [&](std::chrono::seconds at) {
    return seen.add(finding(Fingerprint::gloo_peer_lost), kStart + at, kWall);
  };
  CHECK(add(0s) == Sightings::News::first);
  CHECK(add(59s) == Sightings::News::none);
  CHECK(seen.active(kStart + 10min).empty());
  CHECK(add(11min) == Sightings::News::first);
}

TEST_CASE("ranks, jobs and sources are kept apart, the latest first") {
  Sightings seen;
  seen.add(finding(Fingerprint::gloo_peer_lost, 0), kStart, kWall);
  seen.add(finding(Fingerprint::gloo_peer_lost, 1), kStart + 1s, kWall);
  wire::Finding other = finding(Fingerprint::gloo_peer_lost, 1, 7);
  other.job = "slurm:1";
  seen.add(other, kStart + 2s, kWall);
  wire::Finding kernel;
  kernel.fingerprint = Fingerprint::host_oom_kill;
  kernel.source = Source::kernel;
  kernel.role = "initiating";
  kernel.text = "Killed process 7";
  seen.add(kernel, kStart + 3s, kWall);
  const auto active = seen.active(kStart + 4s);
  REQUIRE(active.size() == 4);
  CHECK(active[0].source == Source::kernel);
  CHECK(active[0].evidence.front() == "kernel: Killed process 7");
  CHECK(active[1].job == "slurm:1");
  CHECK(active[3].rank == 0);
}

TEST_CASE("what a source cannot know is not taken from it") {
  Sightings seen;
  wire::Finding odd = finding(Fingerprint::gloo_peer_lost);
  odd.source = Source::kernel;
  CHECK(seen.add(odd, kStart, kWall) == Sightings::News::none);
  CHECK(seen.add(finding(Fingerprint::none), kStart, kWall) == Sightings::News::none);
  CHECK(seen.active(kStart).empty());
}

TEST_CASE("a cancelled job takes the echoes of its end with it, and nothing else") {
  Sightings seen;
  seen.add(finding(Fingerprint::gloo_peer_lost, 0), kStart, kWall);
  seen.add(finding(Fingerprint::cuda_oom, 0, 2, "initiating"), kStart, kWall);
  CHECK(seen.active(kStart).size() == 2);
  seen.add(finding(Fingerprint::job_cancelled, -1, 3, "context"), kStart + 5s, kWall);
  auto active = seen.active(kStart + 6s);
  REQUIRE(active.size() == 2);
  CHECK(active[0].id == Fingerprint::job_cancelled);
  CHECK(active[1].id == Fingerprint::cuda_oom);
  // Long after it, a lost peer is one again.
  seen.add(finding(Fingerprint::gloo_peer_lost, 0, 99), kStart + 2min, kWall);
  CHECK(seen.active(kStart + 2min).front().id == Fingerprint::gloo_peer_lost);
}

TEST_CASE("a flood of findings stays within bounds") {
  Sightings seen;
  for (int i = 0; i < 5000; ++i) {
    seen.add(finding(Fingerprint::gloo_peer_lost, i, i + 1), kStart + std::chrono::seconds(i / 100),
             kWall);
    seen.add(finding(Fingerprint::cuda_oom, 1, i + 1), kStart + std::chrono::seconds(i / 100),
             kWall);
  }
  const auto active = seen.active(kStart + 51s);
  CHECK(active.size() == Sightings::kMost);
  for (const auto& one : active) CHECK(one.evidence.size() <= Sightings::kMostEvidence);
}
