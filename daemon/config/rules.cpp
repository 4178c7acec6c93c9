// SPDX-License-Identifier: Apache-2.0
//
// Contradictions and impossibilities, one function per part of the configuration.
#include "daemon/config/rules.h"

#include <algorithm>

#include "daemon/config/suggest.h"
#include "daemon/config/units.h"

namespace collwatch::config {
namespace {

/// The complaint goes to the key that was given, so that it names a place to mend.
void check_timeout(const RuleContext& context, const std::string& probe, Millis timeout,
                   Millis interval) {
  if (timeout < interval) return;
  const std::string timeout_key = probe + ".timeout";
  const std::string interval_key = probe + ".interval";
  if (context.given(interval_key) && !context.given(timeout_key)) {
    context.complain(interval_key, format_duration(interval) + " must be longer than " +
                                       timeout_key + " (" + format_duration(timeout) + ")");
    return;
  }
  context.complain(timeout_key, format_duration(timeout) + " must be shorter than " + interval_key +
                                    " (" + format_duration(interval) + ")");
}

void check_payloads(const Config& c, const Say& complain) {
  if (c.edge.payloads.empty() || c.edge.payloads.front() != 64) {
    complain("probes.edge.payloads",
             "must begin with 64, the payload of every round, which tells a dead path from one "
             "that only loses large packets");
  }
}

void check_ports(const RuleContext& context) {
  const Config& c = context.config;
  const std::string& status = c.listen.host;
  const std::string& peer = c.peers.listen.host;
  if (c.listen.port == c.peers.listen.port &&
      (status == peer || is_any_host(status) || is_any_host(peer))) {
    const bool at_listen = context.given("listen") && !context.given("peers.listen");
    const Endpoint& other = at_listen ? c.peers.listen : c.listen;
    context.complain(at_listen ? "listen" : "peers.listen",
                     "port " + std::to_string(other.port) + " is taken by " +
                         (at_listen ? "peers.listen" : "listen") + " (" + format_endpoint(other) +
                         ")");
  }
}

/// 4, 6, or 0 for a name.
int family_of(const std::string& host) {
  if (is_numeric_ipv4(host)) return 4;
  return is_numeric_ipv6(host) ? 6 : 0;
}

void check_family(const Config& c, const Say& complain) {
  if (c.network.family == "auto") return;
  const int wanted = c.network.family == "ipv4" ? 4 : 6;
  const int local = family_of(c.network.address);
  if (local != 0 && local != wanted) {
    complain("network.address",
             c.network.address + " contradicts network.family " + c.network.family);
  }
  // "::" takes IPv4 too; every other listen address speaks its own family only.
  const int listen = family_of(c.peers.listen.host);
  if (listen != 0 && listen != wanted && c.peers.listen.host != "::") {
    complain("peers.listen",
             format_endpoint(c.peers.listen) + " contradicts network.family " + c.network.family);
  }
  for (const Member& member : c.membership.members) {
    const int remote = family_of(member.address.host);
    if (remote != 0 && remote != wanted) {
      complain("network.family", c.network.family + " contradicts the address of member '" +
                                     member.name + "', " + format_endpoint(member.address));
    }
  }
}

void check_network(const Config& c, const Host& host, const Say& complain) {
  std::vector<std::string> names;
  std::vector<std::string> addresses;
  std::string all_names;
  std::string all_addresses;
  const Interface* chosen = nullptr;
  for (const Interface& interface : host.interfaces) {
    names.push_back(interface.name);
    all_names += (all_names.empty() ? "" : ", ") + interface.name;
    if (interface.name == c.network.interface) chosen = &interface;
    for (const std::string& address : interface.addresses) {
      addresses.push_back(address);
      all_addresses += (all_addresses.empty() ? "" : ", ") + address;
    }
  }
  if (c.network.interface != "auto" && chosen == nullptr) {
    complain("network.interface",
             "no interface '" + c.network.interface + "' here (have: " + all_names + ")");
  }
  if (c.network.address == "auto") return;
  if (family_of(c.network.address) == 0) {
    return complain("network.address", "'" + c.network.address + "' is not a numeric address");
  }
  const auto has = [&](const std::vector<std::string>& list) {
    return std::find(list.begin(), list.end(), c.network.address) != list.end();
  };
  if (!has(addresses)) {
    complain("network.address",
             "no address " + c.network.address + " here (have: " + all_addresses + ")");
  } else if (chosen != nullptr && !has(chosen->addresses)) {
    complain("network.address",
             c.network.address + " is not an address of interface " + chosen->name);
  }
}

void check_watch(const Config& c, const Say& complain) {
  if (c.watch.processes.count() > 0 && c.watch.processes < std::chrono::seconds(1)) {
    complain("watch.processes.interval", "must be at least 1s, or 0s for never");
  }
  const std::string& ras = c.watch.ras_address.host;
  if (ras != "localhost" && family_of(ras) == 0) {
    complain("watch.ras.address", "'" + ras + "' is not a numeric address");
  }
  if (c.watch.ras_mode != "never" && c.watch.processes.count() == 0) {
    complain("watch.ras.mode",
             "needs watch.processes.interval: which NCCL a job has shows "
             "in its processes");
  }
}

void check_nccl(const RuleContext& context) {
  const Config& c = context.config;
  if (c.nccl.mode == "never") return;
  constexpr int kLeast = 6;
  if (c.nccl.interval < kLeast * c.nccl.timeout) {
    const bool at_interval = context.given("probes.nccl.interval");
    context.complain(at_interval ? "probes.nccl.interval" : "probes.nccl.timeout",
                     at_interval
                         ? format_duration(c.nccl.interval) + " must be at least 6 times " +
                               "probes.nccl.timeout (" + format_duration(c.nccl.timeout) + ")"
                         : format_duration(c.nccl.timeout) + " must be at most a sixth of " +
                               "probes.nccl.interval (" + format_duration(c.nccl.interval) + ")");
  }
  if (c.nccl.mode != "always" && c.watch.processes.count() == 0) {
    context.complain("probes.nccl.mode",
                     "'" + c.nccl.mode + "' needs watch.processes.interval: without it nobody " +
                         "knows whether a job runs");
  }
  if (c.nccl.library != "auto" && !c.nccl.library.starts_with('/')) {
    context.complain("probes.nccl.library",
                     "'" + c.nccl.library + "' is neither auto nor an absolute path");
  }
}

void warn_about_members(const Config& c, const Say& warn) {
  const std::string key = c.membership.file.empty() ? "membership.static" : "membership.file";
  if (c.membership.members.size() == 1) {
    warn(key, "this node is the only member: there is nothing to probe");
  }
  for (const Member& member : c.membership.members) {
    if (member.name == c.node && member.address.port != c.peers.listen.port) {
      warn(key, "others will look for this node at port " + std::to_string(member.address.port) +
                    ", but peers.listen is " + format_endpoint(c.peers.listen));
    }
  }
}

}  // namespace

void check_rules(const RuleContext& context) {
  const Config& c = context.config;
  check_timeout(context, "probes.edge", c.edge.timeout, c.edge.interval);
  check_timeout(context, "probes.gloo", c.gloo.timeout, c.gloo.interval);
  check_payloads(c, context.complain);
  check_ports(context);
  check_family(c, context.complain);
  check_network(c, context.host, context.complain);
  check_watch(c, context.complain);
  check_nccl(context);
  warn_about_members(c, context.warn);
}

}  // namespace collwatch::config
