// SPDX-License-Identifier: Apache-2.0
//
// The parser works from the outside in: '@' first (a value may hold '+' but never '@'), then '=',
// then ':'. Every error quotes the whole spec, since several may be given on one line.
#include "daemon/demo/fault.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdlib>
#include <map>

namespace collwatch::demo {
namespace {

using model::ErrorCode;
using model::Result;
using Millis = std::chrono::milliseconds;

enum class Target { forbidden, node, node_or_link, anything };

struct KindFacts {
  FaultKind kind;
  std::string_view name;
  Target target;
  bool value;     ///< takes one
  bool built;     ///< this build can inject it
  bool loopback;  ///< works without namespaces
};

// In enumerator order: index = enumerator.
constexpr std::array<KindFacts, 23> kKinds = {{
    {FaultKind::none, "none", Target::forbidden, false, true, true},
    {FaultKind::kill, "kill", Target::node, false, true, true},
    {FaultKind::killworker, "killworker", Target::node, false, true, true},
    {FaultKind::stop, "stop", Target::node, false, true, true},
    {FaultKind::stopworker, "stopworker", Target::node, false, true, true},
    {FaultKind::drop, "drop", Target::node_or_link, false, true, false},
    {FaultKind::egress, "egress", Target::node, false, true, false},
    {FaultKind::ingress, "ingress", Target::node, false, true, false},
    {FaultKind::linkdown, "linkdown", Target::node, false, true, false},
    {FaultKind::refuse, "refuse", Target::node, false, true, false},
    {FaultKind::restart, "restart", Target::node, false, true, true},
    {FaultKind::absent, "absent", Target::node, false, true, true},
    {FaultKind::stray, "stray", Target::forbidden, false, true, true},
    {FaultKind::mtu, "mtu", Target::anything, true, false, false},
    {FaultKind::slow, "slow", Target::anything, true, false, false},
    {FaultKind::loss, "loss", Target::anything, true, false, false},
    {FaultKind::iface, "iface", Target::anything, true, false, false},
    {FaultKind::version, "version", Target::anything, true, false, false},
    {FaultKind::corrupt, "corrupt", Target::anything, true, false, false},
    {FaultKind::partition, "partition", Target::anything, true, false, false},
    {FaultKind::clock, "clock", Target::anything, true, false, false},
    {FaultKind::hog, "hog", Target::anything, true, false, false},
    {FaultKind::scale, "scale", Target::forbidden, true, false, true},
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
    if (kind.built) all += (all.empty() ? "" : ", ") + std::string(kind.name);
  }
  return all;
}

/// "10s", "0.5s", "250ms", "2m". Nothing when it is none of these or negative.
std::optional<Millis> parse_duration(const std::string& text) {
  static const std::map<std::string, double> units = {
      {"ms", 1}, {"s", 1000}, {"m", 60000}, {"h", 3600000}};
  const std::size_t digits = text.find_first_not_of("0123456789.");
  if (digits == 0 || digits == std::string::npos) return std::nullopt;
  const auto unit = units.find(text.substr(digits));
  char* end = nullptr;
  const std::string number = text.substr(0, digits);
  const double value = std::strtod(number.c_str(), &end);
  if (unit == units.end() || end != number.c_str() + number.size()) return std::nullopt;
  const double total = value * unit->second;
  if (!std::isfinite(total) || total > 1e9) return std::nullopt;
  return Millis(std::llround(total));
}

/// The number behind an existing node's name, or nothing.
std::optional<int> parse_node(const std::string& text, int nodes) {
  if (text.size() < 2 || text.size() > 4 || text[0] != 'n') return std::nullopt;
  if (text.find_first_not_of("0123456789", 1) != std::string::npos) return std::nullopt;
  const int node = std::atoi(text.c_str() + 1);
  if (node >= nodes || node_name(node) != text) return std::nullopt;
  return node;
}

std::string existing(int nodes) {
  return "the nodes are n0 to " + node_name(nodes - 1);
}

Result<void> parse_times(const std::string& text, Fault& fault) {
  const std::size_t plus = text.find('+');
  const std::string start = text.substr(0, plus);
  const auto at = parse_duration(start);
  if (!at) return wrong(fault.spec, "start '" + start + "' is no time; write 10s, 500ms or 1m");
  fault.start = *at;
  if (plus == std::string::npos) return {};
  const std::string lasting = text.substr(plus + 1);
  const auto duration = parse_duration(lasting);
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

Result<void> parse_target(const std::optional<std::string>& target, int nodes, Fault& fault) {
  const Target wanted = facts(fault.kind).target;
  if (wanted == Target::anything) return {};
  if (wanted == Target::forbidden) {
    if (target) return wrong(fault.spec, std::string(name(fault.kind)) + " takes no target");
    return {};
  }
  if (!target || target->empty()) {
    const std::string example = wanted == Target::node ? ":n1" : ":n1, :n0-n1 or :n0>n1";
    return wrong(fault.spec,
                 "whom? write " + std::string(name(fault.kind)) + example + "; " + existing(nodes));
  }
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

Result<void> check_ground(const std::vector<Fault>& faults, const Ground& ground) {
  for (const Fault& fault : faults) {
    const KindFacts& kind = facts(fault.kind);
    if (!kind.built) {
      return model::fail(ErrorCode::invalid_argument,
                         "this build cannot inject '" + std::string(kind.name) + "' yet");
    }
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

std::string describe(const Fault& fault) {
  const std::string n = fault.node >= 0 ? node_name(fault.node) : "";
  const std::string other = fault.other >= 0 ? node_name(fault.other) : "";
  switch (fault.kind) {
    case FaultKind::kill:
      return n + " was killed";
    case FaultKind::killworker:
      return n + "'s worker was killed";
    case FaultKind::stop:
      return n + " was stopped";
    case FaultKind::stopworker:
      return n + "'s worker was stopped";
    case FaultKind::drop:
      if (fault.direction == Direction::node) return n + " was cut off";
      if (fault.direction == Direction::both_ways)
        return "the link " + n + "<->" + other + " was cut";
      return "everything from " + n + " to " + other + " was dropped";
    case FaultKind::egress:
      return "everything leaving " + n + " was dropped";
    case FaultKind::ingress:
      return "everything arriving at " + n + " was dropped";
    case FaultKind::linkdown:
      return n + "'s interface was taken down";
    case FaultKind::refuse:
      return n + " refused every TCP connection";
    case FaultKind::restart:
      return n + " was restarted";
    case FaultKind::absent:
      return n + (fault.duration ? " was started late" : " was never started");
    case FaultKind::stray:
      return "strangers knocked on every port";
    default:
      return fault.spec + " was injected";
  }
}

}  // namespace collwatch::demo
