// SPDX-License-Identifier: Apache-2.0
//
// The lab with a stand-in for collwatchd: what it builds, what its faults do to real sockets, and
// that nothing of it is left. Namespaces need root; loopback does not.
#include "daemon/demo/lab.h"

#include <dirent.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <iostream>
#include <set>

#include "daemon/demo/command.h"
#include "daemon/demo/inject.h"
#include "daemon/http_client/http_client.h"
#include "tests/support/catch.h"
#include "tests/unit/demo/has.h"

using namespace collwatch::demo;
using namespace std::chrono_literals;

namespace {

/// A folder in which the stand-in is called collwatchd.
class FakeBin {
 public:
  FakeBin() {
    REQUIRE(mkdtemp(path_.data()) != nullptr);
    REQUIRE(symlink(COLLWATCH_SOURCE_DIR "/tests/support/fake_collwatchd",
                    (path_ + "/collwatchd").c_str()) == 0);
  }
  ~FakeBin() {
    unlink((path_ + "/collwatchd").c_str());
    rmdir(path_.c_str());
  }
  const std::string& path() const { return path_; }

 private:
  std::string path_ = "/tmp/collwatch-fakebin-XXXXXX";
};

std::set<std::string> entries(const std::string& folder) {
  std::set<std::string> found;
  DIR* dir = opendir(folder.c_str());
  while (const dirent* entry = dir == nullptr ? nullptr : readdir(dir)) found.insert(entry->d_name);
  if (dir != nullptr) closedir(dir);
  return found;
}

bool python_is_missing() {
  if (!find_program("python3").empty()) return false;
  std::cout << "SKIPPED: the stand-in agent needs python3\n";
  return true;
}

bool namespaces_are_missing() {
  const bool tools = !find_program("ip").empty() && !find_program("iptables").empty();
  if (geteuid() == 0 && tools && Fabric::create(1, Network())) return false;
  std::cout << "SKIPPED: network namespaces need root, ip and iptables\n";
  return true;
}

std::unique_ptr<Lab> make_lab(const FakeBin& bin, int nodes, bool loopback) {
  LabOptions options;
  options.bin_dir = bin.path();
  options.nodes = nodes;
  options.loopback = loopback;
  options.base_port = 29781;
  options.status_on_fabric = true;
  auto lab = Lab::create(options);
  REQUIRE(lab);
  for (int node = 0; node < nodes; ++node) REQUIRE((*lab)->start(node));
  return *std::move(lab);
}

template <typename Condition>
bool becomes_true(Condition condition) {
  for (int i = 0; i < 200; ++i) {
    if (condition()) return true;
    usleep(50000);
  }
  return false;
}

/// How a GET from the switch to the node's status ends: 0, ECONNREFUSED, or any other failure as
/// -1.
int ask(Lab& lab, int node) {
  const AgentPlace& place = lab.agent(node).place();
  const std::string url = "http://" + place.peer_address + ":9781/api/v1/status";
  const auto reply = collwatch::http_client::http_get(url, 700ms, lab.fabric()->switch_netns());
  if (reply) return 0;
  return reply.error().sys_errno == ECONNREFUSED ? ECONNREFUSED : -1;
}

Fault fault(const std::string& spec, int nodes) {
  return *parse_fault(spec, nodes);
}

}  // namespace

TEST_CASE("a loopback lab starts agents, and takes everything with it") {
  if (python_is_missing()) return;
  const FakeBin bin;
  auto lab = make_lab(bin, 2, true);
  CHECK(lab->fabric() == nullptr);
  CHECK(lab->loopback_because() == "--loopback was given");
  const std::string directory = lab->directory();
  struct stat token {};
  REQUIRE(stat((directory + "/token").c_str(), &token) == 0);
  CHECK((token.st_mode & 077) == 0);
  Agent& agent = lab->agent(1);
  REQUIRE(becomes_true([&] { return agent.worker().has_value(); }));
  const pid_t daemon = agent.pid();
  const pid_t worker = *agent.worker();
  lab.reset();
  CHECK(kill(daemon, 0) != 0);
  CHECK(kill(worker, 0) != 0);
  CHECK(access(directory.c_str(), F_OK) != 0);
}

TEST_CASE("kill and restart, stop and continue reach daemon and worker") {
  if (python_is_missing()) return;
  const FakeBin bin;
  auto lab = make_lab(bin, 2, true);
  Injector injector(*lab);
  Agent& agent = lab->agent(0);
  REQUIRE(becomes_true([&] { return agent.worker().has_value(); }));
  const pid_t worker = *agent.worker();

  REQUIRE(injector.inject(fault("stop:n0", 2)));
  const auto is_stopped = [](pid_t pid) {
    const auto text =
        run_command({"sh", "-c", "cut -d' ' -f3 /proc/" + std::to_string(pid) + "/stat"}, 5s);
    return text && *text == "T";
  };
  CHECK(becomes_true([&] { return is_stopped(agent.pid()) && is_stopped(worker); }));
  REQUIRE(injector.repair(fault("stop:n0", 2)));
  CHECK(becomes_true([&] { return !is_stopped(agent.pid()) && !is_stopped(worker); }));

  REQUIRE(injector.inject(fault("kill:n0", 2)));
  CHECK_FALSE(agent.running());
  CHECK(agent.unexpected_end().empty());  // it was asked for
  CHECK(kill(worker, 0) != 0);
  CHECK_FALSE(injector.inject(fault("kill:n0", 2)));  // there is nothing left to kill
  REQUIRE(injector.repair(fault("kill:n0", 2)));
  CHECK(agent.running());

  REQUIRE(becomes_true([&] { return agent.worker().has_value(); }));
  const pid_t before = agent.pid();
  REQUIRE(injector.inject(fault("restart:n0", 2)));
  CHECK(agent.running());
  CHECK(agent.pid() != before);
}

TEST_CASE("an agent that ends by itself is reported with its last words") {
  if (python_is_missing()) return;
  const FakeBin bin;
  setenv("FAKE_FAILS", "n1", 1);
  auto lab = make_lab(bin, 2, true);
  unsetenv("FAKE_FAILS");
  std::string end;
  CHECK(becomes_true([&] { return !(end = lab->agent(1).unexpected_end()).empty(); }));
  CHECK(end == "n1's collwatchd ended with exit code 1: fake: told to fail");
}

TEST_CASE("kept logs survive the lab and the sweep") {
  if (python_is_missing()) return;
  const FakeBin bin;
  auto lab = make_lab(bin, 2, true);
  const std::string kept = lab->keep_logs();
  lab.reset();
  make_lab(bin, 2, true).reset();  // sweeps
  CHECK(access((kept + "/n0/collwatchd.log").c_str(), F_OK) == 0);
  run_command({"rm", "-r", kept}, 5s);
}

TEST_CASE("no collwatchd: one clear sentence") {
  LabOptions options;
  options.bin_dir = "/nowhere";
  const auto lab = Lab::create(options);
  REQUIRE_FALSE(lab);
  CHECK(lab.error().text == "there is no collwatchd in /nowhere");
}

TEST_CASE("namespaces come and go, and leftovers of the dead are swept") {
  if (namespaces_are_missing()) return;
  const pid_t gone = fork();
  if (gone == 0) _exit(0);
  waitpid(gone, nullptr, 0);
  const std::string stale = kNamespacePrefix + std::to_string(gone) + "-n0";
  const std::string foreign = std::string(kNamespacePrefix) + "1-n0";  // pid 1 is always alive
  REQUIRE(run_command({"ip", "netns", "add", stale}, 5s));
  REQUIRE(run_command({"ip", "netns", "add", foreign}, 5s));
  auto fabric = Fabric::create(3, Network());
  REQUIRE(fabric);
  CHECK(entries("/run/netns").contains((*fabric)->netns(2)));
  CHECK(entries("/run/netns").contains((*fabric)->switch_netns()));
  CHECK_FALSE(entries("/run/netns").contains(stale));
  CHECK(entries("/run/netns").contains(foreign));
  const std::string sw = (*fabric)->switch_netns();
  fabric->reset();
  CHECK_FALSE(entries("/run/netns").contains(sw));
  run_command({"ip", "netns", "del", foreign}, 5s);
}

TEST_CASE("every network fault bites, and is gone after its repair") {
  if (python_is_missing() || namespaces_are_missing()) return;
  const FakeBin bin;
  auto lab = make_lab(bin, 3, false);
  REQUIRE(lab->fabric() != nullptr);
  Injector injector(*lab);
  REQUIRE(becomes_true([&] { return ask(*lab, 1) == 0; }));
  for (const char* spec : {"drop:n1", "egress:n1", "ingress:n1", "linkdown:n1", "refuse:n1"}) {
    CAPTURE(spec);
    REQUIRE(injector.inject(fault(spec, 3)));
    CHECK(ask(*lab, 1) == (std::string(spec) == "refuse:n1" ? ECONNREFUSED : -1));
    CHECK(ask(*lab, 2) == 0);
    REQUIRE(injector.repair(fault(spec, 3)));
    CHECK(becomes_true([&] { return ask(*lab, 1) == 0; }));
  }
}

namespace {

/// Whether a GET from one node's namespace to another's status is answered.
bool reaches(Lab& lab, int from, int to) {
  const std::string url = "http://" + endpoint(lab.fabric()->address(to), 9781) + "/api/v1/status";
  return collwatch::http_client::http_get(url, 700ms, lab.fabric()->netns(from)).has_value();
}

bool all_reach_all(Lab& lab) {
  for (int from = 0; from < lab.nodes(); ++from) {
    for (int to = 0; to < lab.nodes(); ++to) {
      if (from != to && !reaches(lab, from, to)) return false;
    }
  }
  return true;
}

}  // namespace

TEST_CASE("what vanishes on the way to and from one node leaves the others alone") {
  if (python_is_missing() || namespaces_are_missing()) return;
  const FakeBin bin;
  auto lab = make_lab(bin, 3, false);
  Injector injector(*lab);
  REQUIRE(becomes_true([&] { return all_reach_all(*lab); }));
  // An answer is larger than 300 bytes, a question is not.
  for (const char* spec : {"mtu:n1=300", "loss:n1=100%", "partition:n0,n2/n1"}) {
    CAPTURE(spec);
    REQUIRE(injector.prepare({fault(spec, 3)}));
    REQUIRE(injector.inject(fault(spec, 3)));
    CHECK_FALSE(reaches(*lab, 0, 1));
    CHECK_FALSE(reaches(*lab, 1, 2));
    CHECK(reaches(*lab, 2, 0));
    REQUIRE(injector.repair(fault(spec, 3)));
    CHECK(becomes_true([&] { return all_reach_all(*lab); }));
  }
  // Small packets pass.
  REQUIRE(injector.inject(fault("mtu:n1=1400", 3)));
  CHECK(all_reach_all(*lab));
}

TEST_CASE("a slow node has a token bucket on both ends of its cable") {
  if (namespaces_are_missing()) return;
  auto fabric = Fabric::create(2, Network());
  REQUIRE(fabric);
  if (const auto known = (*fabric)->try_rate(); !known) {
    std::cout << "SKIPPED: " << known.error().text << "\n";
    return;
  }
  REQUIRE((*fabric)->set_rate(1, 10e6));
  CHECK(has(*run_command({"tc", "-n", (*fabric)->netns(1), "qdisc", "show"}, 5s), "rate 10Mbit"));
  CHECK(has(*run_command({"tc", "-n", (*fabric)->switch_netns(), "qdisc", "show"}, 5s),
            "dev n1 root"));
  REQUIRE((*fabric)->set_rate(1, 0));
  CHECK_FALSE(has(*run_command({"tc", "-n", (*fabric)->netns(1), "qdisc", "show"}, 5s), "tbf"));
}

TEST_CASE("a laboratory of IPv6 works like the other") {
  if (python_is_missing() || namespaces_are_missing()) return;
  const FakeBin bin;
  LabOptions options;
  options.bin_dir = bin.path();
  options.nodes = 2;
  options.network = *Network::parse("fd83::/64");
  options.status_on_fabric = true;
  auto lab = Lab::create(options);
  REQUIRE(lab);
  for (int node = 0; node < 2; ++node) REQUIRE((*lab)->start(node));
  Injector injector(**lab);
  REQUIRE(becomes_true([&] { return all_reach_all(**lab); }));
  for (const char* spec : {"drop:n1", "linkdown:n1", "drop:n0-n1", "mtu:n1=300"}) {
    CAPTURE(spec);
    REQUIRE(injector.inject(fault(spec, 2)));
    CHECK_FALSE(reaches(**lab, 0, 1));
    REQUIRE(injector.repair(fault(spec, 2)));
    CHECK(becomes_true([&] { return all_reach_all(**lab); }));
  }
}

TEST_CASE("a ring grows and shrinks by its member file") {
  if (python_is_missing()) return;
  const FakeBin bin;
  LabOptions options;
  options.bin_dir = bin.path();
  options.nodes = 2;
  options.room = 3;
  options.loopback = true;
  options.base_port = 29781;
  auto lab = Lab::create(options);
  REQUIRE(lab);
  for (int node = 0; node < 2; ++node) REQUIRE((*lab)->start(node));
  Injector injector(**lab);
  const auto members = [&] {
    return *run_command({"grep", "-c", "name:", (*lab)->directory() + "/peers.yaml"}, 5s);
  };
  CHECK(members() == "2");
  REQUIRE(injector.inject(fault("scale=3", 2)));
  CHECK(members() == "3");
  CHECK((*lab)->agent(2).running());
  CHECK((*lab)->nodes() == 3);
  REQUIRE(injector.repair(fault("scale=3", 2)));
  CHECK(members() == "2");
  CHECK_FALSE((*lab)->agent(2).running());
}

TEST_CASE("a fault that this host cannot make is refused before anything starts") {
  if (python_is_missing()) return;
  const FakeBin bin;  // without workers
  LabOptions options;
  options.bin_dir = bin.path();
  options.loopback = true;
  options.base_port = 29781;
  auto lab = Lab::create(options);
  REQUIRE(lab);
  Injector injector(**lab);
  const auto refused = injector.prepare({fault("corrupt:n1", 4)});
  REQUIRE_FALSE(refused);
  CHECK(has(refused.error().text,
            "fault 'corrupt:n1': there is no collwatch-probe-gloo-corrupting in " + bin.path()));
}

TEST_CASE("a cut link leaves every other way open") {
  if (python_is_missing() || namespaces_are_missing()) return;
  const FakeBin bin;
  auto lab = make_lab(bin, 3, false);
  Injector injector(*lab);
  REQUIRE(becomes_true(
      [&] { return reaches(*lab, 0, 1) && reaches(*lab, 1, 2) && reaches(*lab, 2, 0); }));
  for (const char* spec : {"drop:n0-n1", "drop:n0>n1"}) {
    CAPTURE(spec);
    REQUIRE(injector.inject(fault(spec, 3)));
    CHECK_FALSE(reaches(*lab, 0, 1));
    CHECK_FALSE(reaches(*lab, 1, 0));  // TCP needs both directions
    CHECK(reaches(*lab, 0, 2));
    CHECK(reaches(*lab, 2, 1));
    REQUIRE(injector.repair(fault(spec, 3)));
    CHECK(becomes_true([&] { return reaches(*lab, 0, 1) && reaches(*lab, 1, 0); }));
  }
}
