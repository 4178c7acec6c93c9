// SPDX-License-Identifier: Apache-2.0
//
// The table, one row per kind. Reads like design 2.7; anything cleverer would hide the contract.
#include "daemon/demo/expected.h"

#include <algorithm>
#include <cmath>

namespace collwatch::demo {
namespace {

using model::Fingerprint;
using model::Kind;
using model::Reason;
using model::VerdictState;

/// How long the others wait for a member before they call it absent: the agents' default, which the
/// lab leaves as it is. A start takes a second or two of it.
constexpr std::chrono::seconds kJoinGrace{30};
constexpr std::chrono::seconds kJoining{2};

/// `absent` counts from the start of the agents.
bool joins_in_time(const Fault& fault) {
  return fault.duration && fault.start + *fault.duration + kJoining <= kJoinGrace;
}

/// How often a worker must die within kFlapWindow before a page is due.
constexpr int kFlapPages = 3;
constexpr std::chrono::seconds kFlapWindow{60};

/// How far off a clock may be: beyond it stamps and logs mislead people.
constexpr double kSkewMs = 5000;

void set_due(Plan& plan, VerdictState due) {
  plan.ticket_expected = due == VerdictState::ticket;
  plan.page_expected = plan.page_allowed = due == VerdictState::page;
}

void expect_node(Plan& plan, std::vector<Kind> kinds, Reason reason, Fingerprint fingerprint,
                 VerdictState due) {
  for (const Kind kind : kinds) {
    plan.expected.push_back({kind, node_name(plan.fault.node), reason, due});
  }
  plan.fingerprint = fingerprint;
  set_due(plan, due);
}

/// Loss delays, and delay is what a node with loss shows first: either word is right for it.
void expect_lossy(Plan& plan) {
  expect_node(plan, {Kind::node}, Reason::lossy, Fingerprint::straggler, VerdictState::ticket);
  expect_node(plan, {Kind::node}, Reason::slow, Fingerprint::straggler, VerdictState::ticket);
}

void expect_partition(Plan& plan) {
  const auto& side = plan.fault.side;
  if (side.size() == 1) {
    return expect_node(plan, {Kind::node}, Reason::unreachable,
                       Fingerprint::gloo_collective_timeout, VerdictState::page);
  }
  const std::string entity = partition_entity(side);
  plan.expected.push_back({Kind::partition, entity, Reason::unreachable, VerdictState::page});
  plan.fingerprint = Fingerprint::gloo_collective_timeout;
  set_due(plan, VerdictState::page);
  plan.affected = side;
  plan.explains = {entity};
}

void expect_link(Plan& plan) {
  const int a = plan.fault.node;
  const int b = plan.fault.other;
  const bool one_way = plan.fault.direction == Direction::one_way;
  const std::string arrow = node_name(a) + "->" + node_name(b);
  plan.expected.push_back({one_way ? Kind::directed_link : Kind::link,
                           one_way ? arrow : link_entity(a, b), Reason::unreachable,
                           VerdictState::page});
  plan.fingerprint = Fingerprint::gloo_collective_timeout;
  plan.page_expected = plan.page_allowed = true;
  plan.affected = {a, b};
  // The cable is to blame, whichever direction of it is said to be dead at first.
  plan.explains = {link_entity(a, b), arrow, node_name(b) + "->" + node_name(a)};
}

void self_at_victim(Plan& plan, Kind kind, Reason reason) {
  plan.at_victim.push_back({kind, node_name(plan.fault.node), reason, VerdictState::suspect});
}

/// Kinds of which one verdict about one node is expected, and nothing of the node itself.
struct Row {
  FaultKind fault;
  Kind kind;
  Reason reason;
  Fingerprint fingerprint;
  VerdictState due;
};

constexpr Fingerprint kTimeout = Fingerprint::gloo_collective_timeout;
constexpr Fingerprint kLost = Fingerprint::gloo_peer_lost;
constexpr VerdictState kSuspect = VerdictState::suspect;
constexpr VerdictState kTicket = VerdictState::ticket;
constexpr VerdictState kPage = VerdictState::page;

constexpr Row kRows[] = {
    {FaultKind::kill, Kind::node, Reason::agent_down, kLost, kPage},
    {FaultKind::killworker, Kind::node, Reason::worker_crash, kLost, kSuspect},
    {FaultKind::stop, Kind::node, Reason::host_stall, kTimeout, kPage},
    {FaultKind::stopworker, Kind::node, Reason::worker_stuck, kTimeout, kSuspect},
    {FaultKind::ingress, Kind::node_ingress, Reason::unreachable, kTimeout, kPage},
    {FaultKind::refuse, Kind::node, Reason::refused, kLost, kPage},
    {FaultKind::mtu, Kind::node, Reason::size_blackhole, kTimeout, kPage},
    {FaultKind::slow, Kind::node, Reason::slow, Fingerprint::straggler, kTicket},
    {FaultKind::iface, Kind::misconfig, Reason::wrong_interface, Fingerprint::gloo_wrong_interface,
     kTicket},
    {FaultKind::version, Kind::misconfig, Reason::version_mismatch, Fingerprint::version_mismatch,
     kTicket},
    {FaultKind::corrupt, Kind::node, Reason::data_corruption, Fingerprint::data_corruption, kPage},
};

/// The other kinds; those that are not here are to be met with silence.
void expect_special(Plan& plan) {
  switch (plan.fault.kind) {
    case FaultKind::drop:
      if (plan.fault.direction != Direction::node) return expect_link(plan);
      [[fallthrough]];
    case FaultKind::linkdown:
      self_at_victim(plan, Kind::self, Reason::isolated);
      return expect_node(plan, {Kind::node}, Reason::unreachable, kTimeout, kPage);
    case FaultKind::egress:
      self_at_victim(plan, Kind::node_egress, Reason::unreachable);
      return expect_node(plan, {Kind::node, Kind::node_egress}, Reason::unreachable, kTimeout,
                         kPage);
    case FaultKind::absent:
      if (joins_in_time(plan.fault)) return;
      return expect_node(plan, {Kind::node}, Reason::never_joined, Fingerprint::gloo_init_failed,
                         kPage);
    case FaultKind::loss:
      return expect_lossy(plan);
    case FaultKind::partition:
      return expect_partition(plan);
    case FaultKind::clock:
      if (std::abs(plan.fault.value) <= kSkewMs) return;
      return expect_node(plan, {Kind::misconfig}, Reason::clock_skew, Fingerprint::none, kTicket);
    default:
      return;
  }
}

void expect(Plan& plan) {
  for (const Row& row : kRows) {
    if (row.fault != plan.fault.kind) continue;
    return expect_node(plan, {row.kind}, row.reason, row.fingerprint, row.due);
  }
  expect_special(plan);
}

/// With two members a dead node and a dead link look alike (design 1.5); say so in the plan.
void add_two_member_ambiguity(Plan& plan) {
  if (plan.expected.empty() || plan.fault.other >= 0) return;
  if (plan.fault.kind == FaultKind::refuse || plan.fault.kind == FaultKind::kill) return;
  if (plan.expected.front().kind == Kind::misconfig) return;
  Expectation link = plan.expected.front();
  link.kind = Kind::link;
  link.entity = link_entity(0, 1);
  plan.explains.push_back(link.entity);
  plan.expected.push_back(link);
  plan.at_victim.clear();
}

/// The third death of the same worker within a minute earns a page.
void allow_flap_page(std::vector<Plan>& plans) {
  for (Plan& plan : plans) {
    if (plan.fault.kind != FaultKind::killworker) continue;
    const auto recent = std::count_if(plans.begin(), plans.end(), [&plan](const Plan& other) {
      return other.fault.kind == FaultKind::killworker && other.fault.node == plan.fault.node &&
             other.fault.start <= plan.fault.start &&
             plan.fault.start - other.fault.start < kFlapWindow;
    });
    if (recent < kFlapPages) continue;
    set_due(plan, VerdictState::page);
    plan.expected.front().state = VerdictState::page;
  }
}

}  // namespace

std::string link_entity(int a, int b) {
  return node_name(std::min(a, b)) + "<->" + node_name(std::max(a, b));
}

std::string partition_entity(const std::vector<int>& side) {
  std::vector<std::string> names;
  for (const int node : side) names.push_back(node_name(node));
  std::sort(names.begin(), names.end());
  std::string entity;
  for (const std::string& name : names) entity += (entity.empty() ? "" : ",") + name;
  return entity;
}

std::vector<Plan> plan_faults(const std::vector<Fault>& faults, int nodes) {
  std::vector<Plan> plans;
  for (const Fault& fault : faults) {
    Plan plan;
    plan.fault = fault;
    expect(plan);
    plan.mends_itself = fault.kind == FaultKind::killworker || fault.kind == FaultKind::stopworker;
    if (plan.affected.empty() && fault.node >= 0) plan.affected = {fault.node};
    if (fault.kind == FaultKind::scale) {
      for (int node = nodes; node < static_cast<int>(fault.value); ++node) {
        plan.joins.push_back(node);
      }
      plan.affected = plan.joins;
    }
    if (plan.explains.empty() && !plan.expected.empty()) plan.explains = {node_name(fault.node)};
    if (fault.kind == FaultKind::slow || fault.kind == FaultKind::loss) {
      // An exchange over a bad path does fail now and then: suspecting one of its links is no
      // slander.
      for (int other = 0; other < nodes; ++other) {
        if (other == fault.node) continue;
        plan.explains.push_back(link_entity(fault.node, other));
        plan.explains.push_back(node_name(fault.node) + "->" + node_name(other));
        plan.explains.push_back(node_name(other) + "->" + node_name(fault.node));
      }
    }
    if (nodes == 2) add_two_member_ambiguity(plan);
    plans.push_back(std::move(plan));
  }
  allow_flap_page(plans);
  return plans;
}

}  // namespace collwatch::demo
