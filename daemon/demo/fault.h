// SPDX-License-Identifier: Apache-2.0
//
// The fault language of `collwatch demo --fault`: kind[:target][=value][@start[+duration]], parsed
// and checked against what this build and this lab can inject. Pure; used by the demo's run(), the
// expectation table and the tests. The kinds are those of the table in docs/demo.md.
#pragma once

#include <chrono>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "probes/model/result.h"

namespace collwatch::demo {

enum class FaultKind {
  none,
  kill,
  killworker,
  stop,
  stopworker,
  drop,
  egress,
  ingress,
  linkdown,
  refuse,
  restart,
  absent,
  stray,
  mtu,
  slow,
  loss,
  iface,
  version,
  corrupt,
  partition,
  clock,
  hog,
  scale
};

std::string_view name(FaultKind kind);

/// What a drop is aimed at.
enum class Direction { node, both_ways, one_way };

struct Fault {
  std::string spec;  ///< as given
  FaultKind kind = FaultKind::none;
  int node = -1;   ///< the target, or the lower end of a link, or the sender of a->b
  int other = -1;  ///< the other end of a link; -1 otherwise
  Direction direction = Direction::node;
  std::vector<int> side, rest;  ///< of a partition: the side that is blamed, and the other; sorted
  /// Behind '=': mtu bytes, slow bits a second, loss a share of 1, clock milliseconds, scale nodes.
  double value = 0;
  std::chrono::milliseconds start{10000};             ///< after the first round with all edges ok
  std::optional<std::chrono::milliseconds> duration;  ///< none: never repaired
};

/// Where the faults are to be injected.
struct Ground {
  int nodes = 4;
  bool namespaces = true;
  std::chrono::milliseconds duration{60000};
};

/// "n2" for 2.
std::string node_name(int node);

/// One SPEC. The error quotes it and says what is wrong with it.
model::Result<Fault> parse_fault(const std::string& spec, int nodes);

/// All of them, as `--fault` was repeated. Nothing given: stop:n2@10s+20s (the last node where
/// there is no n2). `none` alone: an empty list.
model::Result<std::vector<Fault>> parse_faults(const std::vector<std::string>& specs, int nodes);

/// How many nodes there will be at most: more than `nodes` with `scale`.
int most_nodes(const std::vector<Fault>& faults, int nodes);

/// Whether they can be injected on that ground; the error is the sentence to print.
model::Result<void> check_ground(const std::vector<Fault>& faults, const Ground& ground);

/// "n2 was stopped", "the link n1<->n2 was cut": for people.
std::string describe(const Fault& fault);

}  // namespace collwatch::demo
