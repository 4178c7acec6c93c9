// SPDX-License-Identifier: Apache-2.0
//
// iproute2 and iptables do the work; each call has a deadline. Deleting a namespace deletes its
// veth pairs with it.
#include "daemon/demo/fabric.h"

#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <filesystem>

#include "daemon/demo/command.h"

namespace collwatch::demo {
namespace {

using model::Result;

constexpr std::chrono::seconds kToolDeadline{5};
constexpr int kFirstHost = 10;    ///< .1 is the bridge
constexpr int kSecondHost = 110;  ///< another address of the same node
constexpr char kNetnsFolder[] = "/run/netns";

Result<void> run_tool(const std::string& tool, const std::vector<std::string>& arguments) {
  std::vector<std::string> argv = {tool};
  argv.insert(argv.end(), arguments.begin(), arguments.end());
  auto done = run_command(argv, kToolDeadline);
  if (!done) return model::fail(done.error());
  return {};
}

Result<void> ip(const std::vector<std::string>& arguments) {
  return run_tool("ip", arguments);
}

/// A token bucket for what leaves `device`, a hundredth of a second deep. The queue behind it holds
/// a fifth of a second: a slow link delays, and drops only what it could never carry.
Result<void> shape(const std::string& netns, const std::string& device, double bits) {
  const auto bytes = [](double wanted) {
    return std::to_string(static_cast<long long>(std::clamp(wanted, 16e3, 1e8))) + "b";
  };
  return run_tool("tc", {"-n", netns, "qdisc", "replace", "dev", device, "root", "tbf", "rate",
                         std::to_string(static_cast<long long>(bits)) + "bit", "burst",
                         bytes(bits / 8 / 100), "limit", bytes(bits / 8 / 5)});
}

Result<void> ip_each(const std::vector<std::vector<std::string>>& calls) {
  for (const auto& call : calls) {
    if (auto done = ip(call); !done) return done;
  }
  return {};
}

}  // namespace

int owner_pid(const std::string& entry) {
  const std::string prefix = kNamespacePrefix;
  if (entry.compare(0, prefix.size(), prefix) != 0) return -1;
  const char* digits = entry.c_str() + prefix.size();
  char* end = nullptr;
  const long pid = std::strtol(digits, &end, 10);
  return end == digits || *end != '-' || pid <= 0 || pid > 1 << 22 ? -1 : static_cast<int>(pid);
}

Fabric::Fabric(int nodes, const Network& network)
    : nodes_(nodes),
      network_(network),
      prefix_(kNamespacePrefix + std::to_string(getpid()) + "-") {}

Result<std::unique_ptr<Fabric>> Fabric::create(int nodes, const Network& network) {
  if (geteuid() != 0) return model::fail(model::ErrorCode::permission, "not root");
  sweep_stale();
  std::unique_ptr<Fabric> fabric(new Fabric(nodes, network));
  // On failure the destructor removes what was built so far.
  if (auto built = fabric->build(); !built) return model::fail(built.error());
  return fabric;
}

Fabric::~Fabric() {
  for (int node = 0; node < nodes_; ++node) (void)ip({"netns", "del", netns(node)});
  (void)ip({"netns", "del", switch_netns()});
}

void Fabric::sweep_stale() {
  std::error_code ignored;
  for (const auto& entry : std::filesystem::directory_iterator(kNetnsFolder, ignored)) {
    const std::string found = entry.path().filename();
    const int owner = owner_pid(found);
    if (owner < 0) continue;
    const bool gone = kill(owner, 0) != 0 && errno == ESRCH;
    if (gone || owner == getpid()) (void)ip({"netns", "del", found});
  }
}

std::string Fabric::netns(int node) const {
  return prefix_ + "n" + std::to_string(node);
}
std::string Fabric::switch_netns() const {
  return prefix_ + "sw";
}
std::string Fabric::address(int node) const {
  return network_.host(kFirstHost + node);
}
std::string Fabric::second_address(int node) const {
  return network_.host(kSecondHost + node);
}
std::string Fabric::switch_address() const {
  return network_.host(1);
}

std::string Fabric::with_length(const std::string& address) const {
  return address + "/" + std::to_string(network_.length());
}

std::vector<std::string> Fabric::add_address(const std::string& netns, const std::string& address,
                                             const std::string& device) const {
  std::vector<std::string> call = {"-n", netns, "addr", "add", with_length(address), "dev", device};
  // It is ours alone: no need to ask the others for two seconds.
  if (network_.ipv6()) call.emplace_back("nodad");
  return call;
}

Result<void> Fabric::build() const {
  const std::string sw = switch_netns();
  auto done = ip_each({{"netns", "add", sw},
                       {"-n", sw, "link", "set", "lo", "up"},
                       {"-n", sw, "link", "add", "br0", "type", "bridge"},
                       add_address(sw, switch_address(), "br0"),
                       {"-n", sw, "link", "set", "br0", "up"}});
  for (int node = 0; done && node < nodes_; ++node) done = build_node(node);
  return done;
}

Result<void> Fabric::build_node(int node) const {
  const std::string ns = netns(node);
  const std::string sw = switch_netns();
  const std::string port = "n" + std::to_string(node);
  return ip_each(
      {{"netns", "add", ns},
       {"link", "add", "eth0", "netns", ns, "type", "veth", "peer", "name", port, "netns", sw},
       {"-n", sw, "link", "set", port, "master", "br0", "up"},
       {"-n", ns, "link", "set", "lo", "up"},
       add_address(ns, address(node), "eth0"),
       {"-n", ns, "link", "set", "eth0", "up"}});
}

Result<void> Fabric::iptables(const std::string& netns,
                              const std::vector<std::string>& arguments) const {
  const std::string program = network_.ipv6() ? "ip6tables" : "iptables";
  std::vector<std::string> argv = {"ip", "netns", "exec", netns, program, "-w", "5"};
  // ip exec's through PATH; hand it the whole path where PATH lacks the sbin folders.
  if (const std::string path = find_program(program); !path.empty()) argv[4] = path;
  argv.insert(argv.end(), arguments.begin(), arguments.end());
  auto done = run_command(argv, kToolDeadline + std::chrono::seconds(5));
  if (!done) return model::fail(done.error());
  return {};
}

Result<void> Fabric::set_link(int node, bool up) const {
  if (auto set = ip({"-n", netns(node), "link", "set", "eth0", up ? "up" : "down"}); !set)
    return set;
  // The kernel forgets IPv6 addresses with the link.
  if (!up || !network_.ipv6()) return {};
  return ip(add_address(netns(node), address(node), "eth0"));
}

Result<void> Fabric::set_second_address(int node, bool there) const {
  const std::string second = second_address(node);
  if (there) return ip(add_address(netns(node), second, "eth0"));
  return ip({"-n", netns(node), "addr", "del", with_length(second), "dev", "eth0"});
}

Result<void> Fabric::set_rate(int node, double bits) const {
  const std::string port = "n" + std::to_string(node);
  if (bits > 0) {
    if (auto out = shape(netns(node), "eth0", bits); !out) return out;
    return shape(switch_netns(), port, bits);
  }
  if (auto out = run_tool("tc", {"-n", netns(node), "qdisc", "del", "dev", "eth0", "root"}); !out) {
    return out;
  }
  return run_tool("tc", {"-n", switch_netns(), "qdisc", "del", "dev", port, "root"});
}

Result<void> Fabric::try_rate() const {
  if (auto shaped = shape(switch_netns(), "lo", 1e9); !shaped) return shaped;
  return run_tool("tc", {"-n", switch_netns(), "qdisc", "del", "dev", "lo", "root"});
}

}  // namespace collwatch::demo
