// SPDX-License-Identifier: Apache-2.0
//
// Each kind in one or two lines; what takes more has a function of its own below.
#include "daemon/demo/inject.h"

#include <signal.h>
#include <unistd.h>

#include <cmath>
#include <filesystem>

#include "daemon/demo/rules.h"
#include "daemon/demo/wall_clock.h"

namespace collwatch::demo {
namespace {

using model::ErrorCode;
using model::Result;
namespace fs = std::filesystem;

/// A daemon that says goodbye needs one round; past this it is killed.
constexpr std::chrono::seconds kRestartPatience{5};

// Workers that tests build; nobody ships them.
constexpr char kOtherBuild[] = "collwatch-probe-gloo-other-build";
constexpr char kCorrupting[] = "collwatch-probe-gloo-corrupting";

std::vector<std::string> addresses_of(Lab& lab) {
  std::vector<std::string> addresses;
  for (int node = 0; node < lab.room(); ++node) addresses.push_back(lab.fabric()->address(node));
  return addresses;
}

std::chrono::milliseconds offset_of(const Fault& fault) {
  return std::chrono::milliseconds(std::llround(fault.value));
}

}  // namespace

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
    case FaultKind::none:
    case FaultKind::absent:
      return {};  // whoever starts the agents leaves it out
    case FaultKind::slow:
      return lab_.fabric()->set_rate(fault.node, fault.value);
    case FaultKind::iface:
      return change_address(fault.node, true);
    case FaultKind::version:
      return restart_with_worker(fault.node, kOtherBuild);
    case FaultKind::corrupt:
      return restart_with_worker(fault.node, kCorrupting);
    case FaultKind::clock:
      if (lab_.agent(fault.node).setup().environment.empty()) {
        return model::fail(ErrorCode::invalid_argument, "its clock was not prepared before it started");
      }
      return set_wall_clock(clock_file(fault.node), offset_of(fault));
    case FaultKind::hog:
      return starve(fault.node);
    case FaultKind::scale:
      return grow(static_cast<int>(fault.value));
    case FaultKind::drop:
    case FaultKind::egress:
    case FaultKind::ingress:
    case FaultKind::refuse:
    case FaultKind::mtu:
    case FaultKind::loss:
    case FaultKind::partition:
      break;
  }
  return set_rules(fault, "-I");
}

Result<void> Injector::repair(const Fault& fault) {
  switch (fault.kind) {
    case FaultKind::kill:
    case FaultKind::restart:
    case FaultKind::absent:
      return lab_.start(fault.node);
    case FaultKind::none:
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
    case FaultKind::slow:
      return lab_.fabric()->set_rate(fault.node, 0);
    case FaultKind::iface:
      return change_address(fault.node, false);
    case FaultKind::version:
    case FaultKind::corrupt:
      return restart_with_worker(fault.node, "");
    case FaultKind::clock:
      return set_wall_clock(clock_file(fault.node), std::chrono::milliseconds(0));
    case FaultKind::hog:
      groups_.erase(fault.node);
      pauses_.erase(fault.node);
      return {};
    case FaultKind::scale:
      return shrink();
    case FaultKind::drop:
    case FaultKind::egress:
    case FaultKind::ingress:
    case FaultKind::refuse:
    case FaultKind::mtu:
    case FaultKind::loss:
    case FaultKind::partition:
      break;
  }
  return set_rules(fault, "-D");
}

Result<void> Injector::prepare(const std::vector<Fault>& faults) {
  for (const Fault& fault : faults) {
    if (auto done = prepare_one(fault); !done) {
      return model::fail(model::wrap(done.error(), "fault '" + fault.spec + "'"));
    }
  }
  return {};
}

Result<void> Injector::prepare_one(const Fault& fault) {
  switch (fault.kind) {
    case FaultKind::slow:
      return lab_.fabric()->try_rate();
    case FaultKind::mtu:
    case FaultKind::loss:
      return try_rules(fault);
    case FaultKind::version:
      return find_worker(kOtherBuild);
    case FaultKind::corrupt:
      return find_worker(kCorrupting);
    case FaultKind::clock:
      return prepare_clock(fault.node);
    default:
      return {};
  }
}

Result<void> Injector::try_rules(const Fault& fault) {
  // In the switch's namespace nobody notices.
  const std::string sw = lab_.fabric()->switch_netns();
  for (const char* action : {"-I", "-D"}) {
    std::vector<std::string> words = rules_of(fault, addresses_of(lab_)).front().words;
    words.insert(words.begin(), action);
    if (auto done = lab_.fabric()->iptables(sw, words); !done) return done;
  }
  return {};
}

Result<void> Injector::find_worker(const std::string& worker) {
  if (access((lab_.bin_dir() + "/" + worker).c_str(), X_OK) == 0) return {};
  return model::fail(ErrorCode::not_found, "there is no " + worker + " in " + lab_.bin_dir() +
                                               "; only builds with tests have that worker");
}

std::string Injector::clock_file(int node) const {
  return lab_.agent(node).place().directory + "/clock";
}

Result<void> Injector::prepare_clock(int node) {
  const auto library = find_faketime();
  if (!library) return model::fail(library.error());
  const std::string file = clock_file(node);
  lab_.agent(node).setup().environment = faketime_environment(*library, file);
  return set_wall_clock(file, std::chrono::milliseconds(0));
}

Result<void> Injector::restart(int node) {
  lab_.agent(node).stop(kRestartPatience);
  return lab_.start(node);
}

/// An empty name: the worker that is shipped. The daemon takes the worker that lies beside it, so
/// it moves to a folder of its own.
Result<void> Injector::restart_with_worker(int node, const std::string& worker) {
  Agent& agent = lab_.agent(node);
  if (auto alive = agent.signal(0); !alive) return alive;
  if (worker.empty()) {
    agent.setup().bin_dir = lab_.bin_dir();
    return restart(node);
  }
  const fs::path folder = agent.place().directory + "/" + worker;
  std::error_code failed;
  if (fs::create_directory(folder, failed)) {
    fs::copy_file(lab_.bin_dir() + "/collwatchd", folder / "collwatchd", failed);
    if (!failed) {
      fs::create_symlink(lab_.bin_dir() + "/" + worker, folder / "collwatch-probe-gloo", failed);
    }
  }
  if (failed) {
    return model::fail(ErrorCode::io, "cannot fill " + folder.string() + ": " + failed.message());
  }
  agent.setup().bin_dir = folder;
  return restart(node);
}

Result<void> Injector::change_address(int node, bool wrong) {
  Agent& agent = lab_.agent(node);
  if (auto alive = agent.signal(0); !alive) return alive;
  const Fabric& fabric = *lab_.fabric();
  agent.stop(kRestartPatience);
  if (auto set = fabric.set_second_address(node, wrong); !set) return set;
  agent.setup().network_address = wrong ? fabric.second_address(node) : "auto";
  return lab_.start(node);
}

Result<void> Injector::starve(int node) {
  Agent& agent = lab_.agent(node);
  if (auto alive = agent.signal(0); !alive) return alive;
  std::vector<pid_t> processes = agent.children();
  processes.push_back(agent.pid());
  auto group =
      CpuGroup::create(kNamespacePrefix + std::to_string(getpid()) + "-" + agent.place().name);
  if (!group) {
    pauses_.try_emplace(node, processes);
    return {};
  }
  for (const pid_t process : processes) {
    if (auto added = group->add(process); !added) return added;
  }
  groups_.emplace(node, *std::move(group));
  return {};
}

Result<void> Injector::grow(int nodes) {
  // Listed first: who calls is known to those that are called.
  if (auto listed = lab_.set_nodes(nodes); !listed) return listed;
  for (int node = nodes_; node < nodes; ++node) {
    if (auto started = lab_.start(node); !started) return started;
  }
  return {};
}

Result<void> Injector::shrink() {
  for (int node = nodes_; node < lab_.room(); ++node) lab_.agent(node).ask_to_stop();
  for (int node = nodes_; node < lab_.room(); ++node) lab_.agent(node).stop(kRestartPatience);
  return lab_.set_nodes(nodes_);
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
  for (const Rule& rule : rules_of(fault, addresses_of(lab_))) {
    std::vector<std::string> words = rule.words;
    words.insert(words.begin(), action);
    if (auto done = lab_.fabric()->iptables(lab_.fabric()->netns(rule.node), words); !done) {
      return done;
    }
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
