// SPDX-License-Identifier: Apache-2.0
//
// iproute2 and iptables do the work; each call has a deadline. Deleting a namespace deletes its
// veth pairs with it.
#include "daemon/demo/fabric.h"

#include <signal.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <filesystem>

#include "daemon/demo/command.h"

namespace collwatch::demo {
namespace {

using model::Result;

constexpr std::chrono::seconds kToolDeadline{5};
constexpr int kFirstHost = 10;  ///< .1 is the bridge
constexpr char kNetnsFolder[] = "/run/netns";

Result<void> ip(const std::vector<std::string>& arguments) {
  std::vector<std::string> argv = {"ip"};
  argv.insert(argv.end(), arguments.begin(), arguments.end());
  auto done = run_command(argv, kToolDeadline);
  if (!done) return model::fail(done.error());
  return {};
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

Fabric::Fabric(int nodes, std::string subnet)
    : nodes_(nodes),
      subnet_(std::move(subnet)),
      prefix_(kNamespacePrefix + std::to_string(getpid()) + "-") {}

Result<std::unique_ptr<Fabric>> Fabric::create(int nodes, const std::string& subnet) {
  if (geteuid() != 0) return model::fail(model::ErrorCode::permission, "not root");
  sweep_stale();
  std::unique_ptr<Fabric> fabric(new Fabric(nodes, subnet));
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
  return subnet_ + "." + std::to_string(kFirstHost + node);
}
std::string Fabric::switch_address() const {
  return subnet_ + ".1";
}

Result<void> Fabric::build() const {
  const std::string sw = switch_netns();
  auto done = ip_each({{"netns", "add", sw},
                       {"-n", sw, "link", "set", "lo", "up"},
                       {"-n", sw, "link", "add", "br0", "type", "bridge"},
                       {"-n", sw, "addr", "add", switch_address() + "/24", "dev", "br0"},
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
       {"-n", ns, "addr", "add", address(node) + "/24", "dev", "eth0"},
       {"-n", ns, "link", "set", "eth0", "up"}});
}

Result<void> Fabric::iptables(int node, const std::vector<std::string>& arguments) const {
  std::vector<std::string> argv = {"ip", "netns", "exec", netns(node), "iptables", "-w", "5"};
  // ip exec's through PATH; hand it the whole path where PATH lacks the sbin folders.
  if (const std::string path = find_program("iptables"); !path.empty()) argv[4] = path;
  argv.insert(argv.end(), arguments.begin(), arguments.end());
  auto done = run_command(argv, kToolDeadline + std::chrono::seconds(5));
  if (!done) return model::fail(done.error());
  return {};
}

Result<void> Fabric::set_link(int node, bool up) const {
  return ip({"-n", netns(node), "link", "set", "eth0", up ? "up" : "down"});
}

}  // namespace collwatch::demo
