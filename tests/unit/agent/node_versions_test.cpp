// SPDX-License-Identifier: Apache-2.0
//
// What is compared between nodes, and who differs.
#include "daemon/agent/node_versions.h"

#include "tests/support/catch.h"

using namespace collwatch;
using agent::odd_versions;
using agent::Versions;

namespace {

wire::WatchedJob job(const std::string& name, int world_size) {
  wire::WatchedJob one;
  one.job = name;
  one.ranks = {0, 1};
  one.world_size = world_size;
  one.torch = "2.6.0+cu124";
  one.nccl = "2.21.5";
  one.cuda = "12.4";
  return one;
}

std::string said(const std::map<std::string, Versions>& members, const std::string& self) {
  std::string text;
  for (const agent::OddVersion& odd : odd_versions(members, self)) {
    text += agent::sentence(odd) + "\n";
  }
  return text;
}

}  // namespace

TEST_CASE("a node says its driver, its libtorch, and what each job of several nodes runs") {
  wire::WatchedJobs watched;
  watched.driver = "535.129.03";
  watched.jobs = {job("slurm:7", 16)};
  CHECK(agent::versions_of(watched, "2.6.0") ==
        Versions{{"CUDA of job slurm:7 (16 ranks)", "12.4"},
                 {"NCCL of job slurm:7 (16 ranks)", "2.21.5"},
                 {"NVIDIA driver", "535.129.03"},
                 {"libtorch of the system", "2.6.0"},
                 {"torch of job slurm:7 (16 ranks)", "2.6.0+cu124"}});
  CHECK(agent::versions_of({}, "").empty());
}

TEST_CASE("jobs of one node, and those whose name another node may use, are not compared") {
  for (const auto& [name, world_size] : std::map<std::string, int>{{"slurm:1", 2},
                                                                   {"slurm:2", 0},
                                                                   {"store:127.0.0.1:29500", 16},
                                                                   {"store:localhost:29500", 16},
                                                                   {"store:::1:29500", 16},
                                                                   {"unnamed", 16},
                                                                   {"", 16}}) {
    INFO(name);
    wire::WatchedJobs watched;
    watched.jobs = {job(name, world_size)};
    CHECK(agent::versions_of(watched, "").empty());
  }
  wire::WatchedJobs many;
  for (int i = 0; i < 9; ++i) many.jobs.push_back(job("slurm:" + std::to_string(i), 16));
  CHECK(agent::versions_of(many, "").size() == 12);
}

TEST_CASE("the odd one is named with both versions, by whoever looks") {
  const std::map<std::string, Versions> members{{"n0", {{"driver", "1"}, {"NCCL", "2.21.5"}}},
                                                {"n1", {{"driver", "1"}, {"NCCL", "2.21.5"}}},
                                                {"n2", {{"driver", "1"}, {"NCCL", "2.28.9"}}},
                                                {"old", {}}};
  for (const auto& [self, versions] : members) {
    CHECK(said(members, self) == "n2 has NCCL 2.28.9, the others have 2.21.5\n");
  }
}

TEST_CASE("alike, alone or unknown is nobody's mistake") {
  CHECK(said({{"n0", {{"a", "1"}}}, {"n1", {{"a", "1"}}}}, "n0").empty());
  CHECK(said({{"n0", {{"a", "1"}}}, {"n1", {{"b", "2"}}}}, "n0").empty());
  CHECK(said({{"n0", {{"a", "1"}}}, {"n1", {{"a", ""}}}}, "n0").empty());
  // Of two, one's own is right.
  CHECK(said({{"n0", {{"a", "1"}}}, {"n1", {{"a", "2"}}}}, "n0") ==
        "n1 has a 2, the others have 1\n");
}
