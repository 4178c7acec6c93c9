// SPDX-License-Identifier: Apache-2.0
//
// Rules sit where packets arrive, not where they leave, wherever a fault is to be silent: a packet
// that OUTPUT drops is an error that its sender sees. Whole nodes are cut off at their own end, as
// a broken cable would do it.
#include "daemon/demo/rules.h"

#include <sstream>

namespace collwatch::demo {
namespace {

using Words = std::vector<std::string>;

Words drop(Words match) {
  match.insert(match.end(), {"-j", "DROP"});
  return match;
}

std::string joined(const std::vector<int>& nodes, const std::vector<std::string>& addresses) {
  std::string all;
  for (const int node : nodes) all += (all.empty() ? "" : ",") + addresses[node];
  return all;
}

/// What matches `words` is dropped on its way to n and, at all others, from n.
std::vector<Rule> both_ways(int n, const std::vector<std::string>& addresses, const Words& words) {
  std::vector<Rule> rules;
  for (int node = 0; node < static_cast<int>(addresses.size()); ++node) {
    Words match = {"INPUT", "-i", "eth0"};
    if (node != n) match.insert(match.end(), {"-s", addresses[n]});
    match.insert(match.end(), words.begin(), words.end());
    rules.push_back({node, drop(match)});
  }
  return rules;
}

std::vector<Rule> link_rules(const Fault& fault, const std::vector<std::string>& addresses) {
  const int n = fault.node;
  const int other = fault.other;
  if (fault.direction == Direction::one_way) {
    return {{other, drop({"INPUT", "-s", addresses[n]})}};
  }
  return {{n, drop({"INPUT", "-s", addresses[other]})},
          {n, drop({"OUTPUT", "-d", addresses[other]})}};
}

std::vector<Rule> refusing(int n) {
  // The reset that answers an incoming packet leaves through OUTPUT itself: let it pass.
  return {{n, {"INPUT", "-i", "eth0", "-p", "tcp", "-j", "REJECT", "--reject-with", "tcp-reset"}},
          {n,
           {"OUTPUT", "-o", "eth0", "-p", "tcp", "!", "--tcp-flags", "RST", "RST", "-j", "REJECT",
            "--reject-with", "tcp-reset"}}};
}

std::vector<Rule> partition_rules(const Fault& fault, const std::vector<std::string>& addresses) {
  std::vector<Rule> rules;
  const std::string side = joined(fault.side, addresses);
  const std::string rest = joined(fault.rest, addresses);
  for (const int node : fault.side) rules.push_back({node, drop({"INPUT", "-s", rest})});
  for (const int node : fault.rest) rules.push_back({node, drop({"INPUT", "-s", side})});
  return rules;
}

std::string decimal(double value) {
  std::ostringstream text;
  text << value;
  return text.str();
}

}  // namespace

std::vector<Rule> rules_of(const Fault& fault, const std::vector<std::string>& addresses) {
  const int n = fault.node;
  const Rule in = {n, drop({"INPUT", "-i", "eth0"})};
  const Rule out = {n, drop({"OUTPUT", "-o", "eth0"})};
  switch (fault.kind) {
    case FaultKind::ingress:
      return {in};
    case FaultKind::egress:
      return {out};
    case FaultKind::refuse:
      return refusing(n);
    case FaultKind::drop:
      if (fault.direction == Direction::node) return {in, out};
      return link_rules(fault, addresses);
    case FaultKind::partition:
      return partition_rules(fault, addresses);
    case FaultKind::mtu:
      return both_ways(n, addresses,
                       {"-m", "length", "--length", decimal(fault.value + 1) + ":65535"});
    case FaultKind::loss:
      return both_ways(
          n, addresses,
          {"-m", "statistic", "--mode", "random", "--probability", decimal(fault.value)});
    default:
      return {};
  }
}

}  // namespace collwatch::demo
