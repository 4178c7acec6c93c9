// SPDX-License-Identifier: Apache-2.0
//
// Each kind in one or two lines; what they share is the pid of the worker and the list of rules.
#include "daemon/demo/inject.h"

#include <signal.h>

namespace collwatch::demo {
namespace {

using model::ErrorCode;
using model::Result;

/// A daemon that says goodbye needs one round; past this it is killed.
constexpr std::chrono::seconds kRestartPatience{5};

using Rules = std::vector<std::pair<int, std::vector<std::string>>>;

}  // namespace

Rules rules_of(const Fault& fault, const Fabric& fabric) {
  const int n = fault.node;
  const std::vector<std::string> in = {"INPUT", "-i", "eth0", "-j", "DROP"};
  const std::vector<std::string> out = {"OUTPUT", "-o", "eth0", "-j", "DROP"};
  if (fault.kind == FaultKind::ingress) return {{n, in}};
  if (fault.kind == FaultKind::egress) return {{n, out}};
  if (fault.kind == FaultKind::refuse) {
    // The reset that answers an incoming packet leaves through OUTPUT itself: let it pass.
    return {{n, {"INPUT", "-i", "eth0", "-p", "tcp", "-j", "REJECT", "--reject-with", "tcp-reset"}},
            {n,
             {"OUTPUT", "-o", "eth0", "-p", "tcp", "!", "--tcp-flags", "RST", "RST", "-j", "REJECT",
              "--reject-with", "tcp-reset"}}};
  }
  if (fault.kind != FaultKind::drop) return {};
  if (fault.direction == Direction::node) return {{n, in}, {n, out}};
  if (fault.direction == Direction::one_way) {
    return {{fault.other, {"INPUT", "-s", fabric.address(n), "-j", "DROP"}}};
  }
  const std::string other = fabric.address(fault.other);
  return {{n, {"INPUT", "-s", other, "-j", "DROP"}}, {n, {"OUTPUT", "-d", other, "-j", "DROP"}}};
}

Result<void> Injector::inject(const Fault& fault) {
  switch (fault.kind) {
    case FaultKind::kill:
      if (auto alive = lab_.agent(fault.node).signal(0); !alive) return alive;
      lab_.agent(fault.node).kill();
      return {};
    case FaultKind::killworker: {
      const auto worker = lab_.agent(fault.node).worker();
      if (!worker || ::kill(*worker, SIGKILL) != 0) {
        return model::fail(ErrorCode::not_found, node_name(fault.node) + " has no worker to kill");
      }
      return {};
    }
    case FaultKind::stop: {
      // The daemon first: it would take note of a worker that stopped before it.
      if (auto done = lab_.agent(fault.node).signal(SIGSTOP); !done) return done;
      return stop_worker(fault.node);
    }
    case FaultKind::stopworker:
      return stop_worker(fault.node);
    case FaultKind::linkdown:
      return lab_.fabric()->set_link(fault.node, false);
    case FaultKind::restart:
      lab_.agent(fault.node).stop(kRestartPatience);
      return fault.duration ? Result<void>{} : lab_.start(fault.node);
    case FaultKind::stray:
      stranger_ = std::make_unique<Stranger>(doors());
      return {};
    case FaultKind::absent:
      return {};  // whoever starts the agents leaves it out
    default:
      return set_rules(fault, "-I");
  }
}

Result<void> Injector::repair(const Fault& fault) {
  switch (fault.kind) {
    case FaultKind::kill:
    case FaultKind::restart:
    case FaultKind::absent:
      return lab_.start(fault.node);
    case FaultKind::killworker:
      return {};  // its daemon has long since started another one
    case FaultKind::stop: {
      if (auto done = continue_worker(fault.node); !done) return done;
      return lab_.agent(fault.node).signal(SIGCONT);
    }
    case FaultKind::stopworker:
      return continue_worker(fault.node);
    case FaultKind::linkdown:
      return lab_.fabric()->set_link(fault.node, true);
    case FaultKind::stray:
      stranger_.reset();
      return {};
    default:
      return set_rules(fault, "-D");
  }
}

Result<void> Injector::stop_worker(int node) {
  const auto worker = lab_.agent(node).worker();
  if (!worker || ::kill(*worker, SIGSTOP) != 0) {
    return model::fail(ErrorCode::not_found, node_name(node) + " has no worker to stop");
  }
  stopped_workers_[node] = *worker;
  return {};
}

Result<void> Injector::continue_worker(int node) {
  const auto stopped = stopped_workers_.find(node);
  if (stopped == stopped_workers_.end()) return {};
  // Only if it is still this daemon's: replaced meanwhile, its pid may belong to anybody.
  if (lab_.agent(node).worker() == stopped->second) ::kill(stopped->second, SIGCONT);
  stopped_workers_.erase(stopped);
  return {};
}

Result<void> Injector::set_rules(const Fault& fault, const char* action) {
  for (auto& [node, rule] : rules_of(fault, *lab_.fabric())) {
    std::vector<std::string> arguments = {action};
    arguments.insert(arguments.end(), rule.begin(), rule.end());
    if (auto done = lab_.fabric()->iptables(node, arguments); !done) return done;
  }
  return {};
}

std::vector<Stranger::Door> Injector::doors() const {
  std::vector<Stranger::Door> doors;
  for (int node = 0; node < lab_.nodes(); ++node) {
    const AgentPlace& place = lab_.agent(node).place();
    Stranger::Door door;
    door.netns = lab_.fabric() ? lab_.fabric()->switch_netns() : "";
    door.address = place.peer_address;
    door.ports = {place.peer_port};
    if (const auto worker = lab_.agent(node).worker()) {
      for (const std::uint16_t port : listening_ports(*worker)) door.ports.push_back(port);
    }
    doors.push_back(door);
  }
  return doors;
}

}  // namespace collwatch::demo
