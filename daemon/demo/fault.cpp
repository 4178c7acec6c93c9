// SPDX-License-Identifier: Apache-2.0
//
// The parser works from the outside in: '@' first (a value may hold '+' but never '@'), then '=',
// then ':'. Every error quotes the whole spec, since several may be given on one line.
#include "daemon/demo/fault.h"

#include <algorithm>
#include <array>

#include "daemon/demo/fault_value.h"

namespace collwatch::demo {
namespace {

using model::ErrorCode;
using model::Result;

enum class Target { forbidden, node, node_or_link, sides };

struct KindFacts {
  FaultKind kind;
  std::string_view name;
  Target target;
  bool value;     ///< takes one
  bool loopback;  ///< works without namespaces
};

// In enumerator order: index = enumerator.
constexpr std::array<KindFacts, 23> kKinds = {{
    {FaultKind::none, "none", Target::forbidden, false, true},
    {FaultKind::kill, "kill", Target::node, false, true},
    {FaultKind::killworker, "killworker", Target::node, false, true},
    {FaultKind::stop, "stop", Target::node, false, true},
    {FaultKind::stopworker, "stopworker", Target::node, false, true},
    {FaultKind::drop, "drop", Target::node_or_link, false, false},
    {FaultKind::egress, "egress", Target::node, false, false},
    {FaultKind::ingress, "ingress", Target::node, false, false},
    {FaultKind::linkdown, "linkdown", Target::node, false, false},
    {FaultKind::refuse, "refuse", Target::node, false, false},
    {FaultKind::restart, "restart", Target::node, false, true},
    {FaultKind::absent, "absent", Target::node, false, true},
    {FaultKind::stray, "stray", Target::forbidden, false, true},
    {FaultKind::mtu, "mtu", Target::node, true, false},
    {FaultKind::slow, "slow", Target::node, true, false},
    {FaultKind::loss, "loss", Target::node, true, false},
    {FaultKind::iface, "iface", Target::node, false, false},
    {FaultKind::version, "version", Target::node, false, false},
    {FaultKind::corrupt, "corrupt", Target::node, false, false},
    {FaultKind::partition, "partition", Target::sides, false, false},
    {FaultKind::clock, "clock", Target::node, true, false},
    {FaultKind::hog, "hog", Target::node, false, false},
    {FaultKind::scale, "scale", Target::forbidden, true, true},
}};

constexpr bool in_order() {
  for (std::size_t i = 0; i < kKinds.size(); ++i) {
    if (static_cast<std::size_t>(kKinds[i].kind) != i) return false;
  }
  return kKinds.size() == static_cast<std::size_t>(FaultKind::scale) + 1;
}
static_assert(in_order());

const KindFacts& facts(FaultKind kind) {
  return kKinds[static_cast<std::size_t>(kind)];
}

tl::unexpected<model::Error> wrong(const std::string& spec, const std::string& what) {
  return model::fail(ErrorCode::invalid_argument, "fault '" + spec + "': " + what);
}

std::string known_kinds() {
  std::string all;
  for (const KindFacts& kind : kKinds) {
    all += (all.empty() ? "" : ", ") + std::string(kind.name);
  }
  return all;
}

Result<void> parse_times(const std::string& text, Fault& fault) {
  const std::size_t plus = text.find('+');
  const std::string start = text.substr(0, plus);
  const auto at = parse_time(start);
  if (!at) return wrong(fault.spec, "start '" + start + "' is no time; write 10s, 500ms or 1m");
  fault.start = *at;
  if (plus == std::string::npos) return {};
  const std::string lasting = text.substr(plus + 1);
  const auto duration = parse_time(lasting);
  if (!duration || duration->count() == 0) {
    return wrong(fault.spec, "duration '" + lasting + "' is no time; write 10s, 500ms or 1m");
  }
  fault.duration = *duration;
  return {};
}

Result<void> parse_link(const std::string& target, std::size_t sign, int nodes, Fault& fault) {
  const auto a = parse_node(target.substr(0, sign), nodes);
  const auto b = parse_node(target.substr(sign + 1), nodes);
  if (!a || !b) {
    return wrong(fault.spec, "no such pair of nodes as '" + target + "'; " + existing(nodes));
  }
  if (*a == *b) return wrong(fault.spec, "a link needs two different nodes");
  fault.direction = target[sign] == '>' ? Direction::one_way : Direction::both_ways;
  fault.node = *a;
  fault.other = *b;
  // A link has no direction: keep it sorted, as entities are.
  if (fault.direction == Direction::both_ways && fault.node > fault.other) {
    std::swap(fault.node, fault.other);
  }
  return {};
}

Result<void> quoting(const std::string& spec, const Result<void>& done) {
  if (done) return done;
  return wrong(spec, done.error().text);
}

Result<void> parse_target(const std::optional<std::string>& target, int nodes, Fault& fault) {
  const Target wanted = facts(fault.kind).target;
  if (wanted == Target::forbidden) {
    if (target) return wrong(fault.spec, std::string(name(fault.kind)) + " takes no target");
    return {};
  }
  if (!target || target->empty()) {
    const std::string example = wanted == Target::node    ? ":n1"
                                : wanted == Target::sides ? ":n0,n1/n2,n3"
                                                          : ":n1, :n0-n1 or :n0>n1";
    return wrong(fault.spec,
                 "whom? write " + std::string(name(fault.kind)) + example + "; " + existing(nodes));
  }
  if (wanted == Target::sides) return quoting(fault.spec, parse_sides(*target, nodes, fault));
  const std::size_t sign = target->find_first_of("->");
  if (sign != std::string::npos) {
    if (wanted == Target::node_or_link) return parse_link(*target, sign, nodes, fault);
    return wrong(fault.spec, std::string(name(fault.kind)) + " takes one node, not a link");
  }
  const auto node = parse_node(*target, nodes);
  if (!node) return wrong(fault.spec, "no node '" + *target + "'; " + existing(nodes));
  fault.node = *node;
  return {};
}

std::string first_up_to(const std::string& text, char separator, std::optional<std::string>& rest) {
  const std::size_t at = text.find(separator);
  if (at == std::string::npos) return text;
  rest = text.substr(at + 1);
  return text.substr(0, at);
}

}  // namespace

std::string_view name(FaultKind kind) {
  return facts(kind).name;
}

std::string node_name(int node) {
  return "n" + std::to_string(node);
}

Result<Fault> parse_fault(const std::string& spec, int nodes) {
  Fault fault;
  fault.spec = spec;
  std::optional<std::string> times, value, target;
  const std::string head = first_up_to(spec, '@', times);
  const std::string what = first_up_to(head, '=', value);
  const std::string kind = first_up_to(what, ':', target);
  const auto known = std::find_if(kKinds.begin(), kKinds.end(),
                                  [&kind](const KindFacts& k) { return k.name == kind; });
  if (known == kKinds.end()) {
    return wrong(spec, "no fault is called '" + kind + "'; there are " + known_kinds());
  }
  fault.kind = known->kind;
  if (value && !known->value) return wrong(spec, kind + " takes no '='");
  if (auto ok = parse_target(target, nodes, fault); !ok) return model::fail(ok.error());
  if (auto ok = quoting(spec, parse_value(value, nodes, fault)); !ok) {
    return model::fail(ok.error());
  }
  if (times) {
    if (fault.kind == FaultKind::none) return wrong(spec, "none takes no time");
    if (auto ok = parse_times(*times, fault); !ok) return model::fail(ok.error());
  }
  return fault;
}

Result<std::vector<Fault>> parse_faults(const std::vector<std::string>& specs, int nodes) {
  std::vector<std::string> wanted = specs;
  if (wanted.empty()) wanted = {"stop:" + node_name(std::min(2, nodes - 1)) + "@10s+20s"};
  std::vector<Fault> faults;
  for (const std::string& spec : wanted) {
    auto fault = parse_fault(spec, nodes);
    if (!fault) return model::fail(fault.error());
    if (fault->kind != FaultKind::none) {
      faults.push_back(*std::move(fault));
    } else if (wanted.size() > 1) {
      return wrong(spec, "none cannot be combined with other faults");
    }
  }
  return faults;
}

int most_nodes(const std::vector<Fault>& faults, int nodes) {
  for (const Fault& fault : faults) {
    if (fault.kind == FaultKind::scale) nodes = std::max(nodes, static_cast<int>(fault.value));
  }
  return nodes;
}

Result<void> check_ground(const std::vector<Fault>& faults, const Ground& ground) {
  for (const Fault& fault : faults) {
    const KindFacts& kind = facts(fault.kind);
    if (!ground.namespaces && !kind.loopback) {
      return wrong(fault.spec, std::string(kind.name) +
                                   " needs network namespaces: run as root, without --loopback");
    }
    if (fault.kind != FaultKind::absent && fault.start >= ground.duration) {
      return wrong(fault.spec,
                   "it would start only after the demo's end; give a longer --duration");
    }
  }
  return {};
}

}  // namespace collwatch::demo
