// SPDX-License-Identifier: Apache-2.0
//
// One eventful moment of node-a in a ring of four: node-c has just stopped answering, the way from
// node-b to node-d was bad a moment ago. The Snapshot behind the golden pages in this folder; its
// times are fixed and its numbers exact in binary, so that every machine prints the same page.
// Used by the tests of prometheus, json and http.
#pragma once

#include <chrono>

#include "exporters/snapshot.h"

namespace collwatch::test {

inline exporters::WallTime at_second(int seconds, int milliseconds = 0) {
  return exporters::WallTime(std::chrono::seconds(1'700'000'000 + seconds) +
                             std::chrono::milliseconds(milliseconds));
}

inline exporters::Verdict sample_node_verdict() {
  using namespace model;
  return {Kind::node,
          "node-c",
          Reason::host_stall,
          Fingerprint::gloo_collective_timeout,
          VerdictState::page,
          Confidence::high,
          31.25,
          {"node-a", "node-b"},
          {},
          View::direct,
          at_second(3, 250)};
}

inline exporters::Verdict sample_directed_verdict() {
  using namespace model;
  return {Kind::directed_link,
          "node-d->node-b",
          Reason::unreachable,
          Fingerprint::gloo_collective_timeout,
          VerdictState::suspect,
          Confidence::low,
          4.5,
          {"node-d"},
          {"node-b<->node-d"},
          View::heard,
          at_second(4)};
}

inline exporters::Counters sample_counters() {
  using namespace model;
  exporters::Counters c;
  c.edge_rounds[static_cast<std::size_t>(Outcome::ok)] = 1200;
  c.edge_rounds[static_cast<std::size_t>(Outcome::timeout)] = 2;
  c.edge_round_trip.observe(0.000244140625, exporters::kLatencyBounds);
  c.edge_round_trip.observe(0.00048828125, exporters::kLatencyBounds);
  c.edge_round_trip.observe(0.25, exporters::kLatencyBounds);
  c.witness_datagrams[{"received", "ok"}] = 2398;
  c.witness_datagrams[{"received", "bad_mac"}] = 1;
  c.witness_datagrams[{"sent", "ok"}] = 2404;
  auto& allreduce = c.collectives[{"gloo", Collective::allreduce}];
  allreduce.duration.observe(0.001953125, exporters::kLatencyBounds);
  allreduce.runs[static_cast<std::size_t>(Outcome::ok)] = 40;
  allreduce.runs[static_cast<std::size_t>(Outcome::timeout)] = 1;
  allreduce.last_success = at_second(0, 500);
  c.collectives[{"gloo", Collective::barrier}];  // never run yet
  auto& agent = c.rendezvous["agent"];
  agent.duration.observe(0.0625, exporters::kLatencyBounds);
  agent.runs[static_cast<std::size_t>(Outcome::ok)] = 1;
  c.fingerprint_events[{Fingerprint::gloo_collective_timeout, Source::probe}] = 1;
  c.fingerprint_last_seen[Fingerprint::gloo_collective_timeout] = at_second(4, 750);
  c.probe_skipped[{"c10d", SkipReason::not_installed}] = 1;
  c.worker_restarts[{"gloo", "stuck"}] = 2;
  return c;
}

inline exporters::Snapshot sample_snapshot() {
  using namespace model;
  exporters::Snapshot s;
  s.node = "node-a";
  s.build = {"0.1.0", "2022-05-18", "", "", ""};
  s.cluster = "blue";
  s.rack = "r1";
  s.membership_epoch = 12;
  s.membership_hash = "5a0f2c1e";
  s.members = {{"node-a", MemberState::ok},
               {"node-b", MemberState::ok},
               {"node-c", MemberState::down},
               {"node-d", MemberState::suspect}};
  s.round_number = 402;
  s.round_age_seconds = 0.5;
  s.round_interval_seconds = 1;
  s.local_health = 1;
  s.memory_limit_bytes = 67108864;
  s.scheduling_delay_seconds = 0.015625;
  s.edges_unobserved_ratio = 0.25;
  s.clock_skew_seconds = -0.125;
  s.workers = {{"gloo", WorkerState::running, ""}};
  s.c10d = {"done",
            "",
            "1.13.0",
            {},
            {{"Invalid scalar type", {"all_reduce int16 SUM on cpu"}}},
            {},
            {"tcp: refused no libuv"}};
  s.watch.sources = {{Source::log, true, ""}, {Source::kernel, false, "cannot read /dev/kmsg"}};
  s.jobs = {{"slurm:4711", {8, 9}, {10}, 2, 64, "nccl", "2.6.0+cu124", "2.21.5", false},
            {"unnamed", {}, {}, 1, 0, "unknown", "", "", true}};
  s.watch.log_bytes = 123456;
  s.watch.log_skipped_bytes = 789;
  s.watch.log_lag_bytes = 42;
  s.watch.log_files = 3;
  s.watch.log_waiting_files = 2;
  s.edges = {{"node-b", Outcome::ok, 0.000244140625, {0.0, true, true}},
             {"node-c", Outcome::timeout, std::nullopt, {1.0, false, true}},
             {"node-d", std::nullopt, std::nullopt, {0.0, false, false}}};
  s.collectives = {{"gloo", Collective::allreduce, 4, Outcome::ok, 0.000732421875, at_second(0)}};
  s.fingerprints = {{Fingerprint::gloo_collective_timeout,
                     Source::probe,
                     std::nullopt,
                     std::nullopt,
                     at_second(3),
                     {"edge node-a->node-c: Timed out waiting 500ms for recv operation"}}};
  s.verdicts = {sample_node_verdict(), sample_directed_verdict()};

  exporters::Event verdict{
      at_second(3, 250),     "node-a",     "verdict",    "page",
      sample_node_verdict(), std::nullopt, std::nullopt, "node-c does not answer: host stall"};
  exporters::Event fingerprint{
      at_second(3), "node-a",          "fingerprint", "active",
      std::nullopt, s.fingerprints[0], std::nullopt,  "a collective timed out"};
  exporters::Event member{at_second(3), "node-a",     "member",     "down",
                          std::nullopt, std::nullopt, s.members[2], "node-c is down"};
  exporters::Event worker{at_second(1), "node-a",     "worker",     "restarted",
                          std::nullopt, std::nullopt, std::nullopt, "the gloo worker was stuck"};
  s.recent_events = {worker, fingerprint, member, verdict};

  s.counters = sample_counters();
  s.ready = true;
  s.made_at = at_second(5);
  return s;
}

}  // namespace collwatch::test
