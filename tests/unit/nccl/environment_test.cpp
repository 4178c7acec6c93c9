// SPDX-License-Identifier: Apache-2.0
//
// What the probe's libnccl may see of the job's environment and of ours.
#include "probes/nccl/environment.h"

#include <algorithm>
#include <cstdlib>
#include <string>

#include "tests/support/catch.h"

using namespace collwatch::nccl_probe;

namespace {

std::string joined(std::initializer_list<const char*> entries) {
  std::string all;
  for (const char* entry : entries) all += std::string(entry) + '\0';
  return all;
}

std::string value_of(const Variables& variables, const std::string& name) {
  const auto found = std::find_if(variables.begin(), variables.end(),
                                  [&](const auto& entry) { return entry.first == name; });
  return found == variables.end() ? "(unset)" : found->second;
}

std::string now(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr ? "(unset)" : value;
}

}  // namespace

TEST_CASE("the probe never joins the job's status service and reads nobody's configuration file") {
  const auto variables = probe_environment("", false);
  CHECK(value_of(variables, "NCCL_RAS_ENABLE") == "0");
  CHECK(value_of(variables, "NCCL_CONF_FILE") == "/dev/null");
  CHECK(value_of(variables, "NCCL_TUNER_PLUGIN") == "none");
  CHECK(value_of(variables, "NCCL_SOCKET_IFNAME") == "(unset)");
}

TEST_CASE("of the job only what it takes to reach its peers is taken over") {
  const std::string job =
      joined({"NCCL_SOCKET_IFNAME=eth0", "NCCL_IB_HCA=mlx5_0:1", "NCCL_RAS_ENABLE=1",
              "NCCL_RAS_ADDR=0.0.0.0:1", "NCCL_DEBUG=TRACE", "NCCL_COMM_BLOCKING=1",
              "NCCL_NET_PLUGIN=/home/u/libx.so", "NCCL_TOPO_FILE=/home/u/t.xml",
              "NCCL_PROFILER_PLUGIN=/home/u/p.so", "LD_PRELOAD=/home/u/e.so",
              "CUDA_VISIBLE_DEVICES=3", "no equals sign", "=empty", "NCCL_IB_SL"});
  const auto variables = probe_environment(job, false);
  CHECK(value_of(variables, "NCCL_SOCKET_IFNAME") == "eth0");
  CHECK(value_of(variables, "NCCL_IB_HCA") == "mlx5_0:1");
  CHECK(value_of(variables, "NCCL_RAS_ENABLE") == "0");
  CHECK(value_of(variables, "NCCL_DEBUG") == "WARN");
  CHECK(value_of(variables, "NCCL_COMM_BLOCKING") == "0");
  CHECK(value_of(variables, "NCCL_PROFILER_PLUGIN") == "none");
  for (const char* name : {"NCCL_RAS_ADDR", "NCCL_NET_PLUGIN", "NCCL_TOPO_FILE", "LD_PRELOAD",
                           "CUDA_VISIBLE_DEVICES", "NCCL_IB_SL"}) {
    INFO(name);
    CHECK(value_of(variables, name) == "(unset)");
  }
}

TEST_CASE("files that the job names are loaded for its own user only") {
  const std::string job = joined({"NCCL_NET_PLUGIN=ofi", "NCCL_TOPO_FILE=/etc/topo.xml"});
  CHECK(value_of(probe_environment(job, true), "NCCL_NET_PLUGIN") == "ofi");
  CHECK(value_of(probe_environment(job, true), "NCCL_TOPO_FILE") == "/etc/topo.xml");
}

TEST_CASE("values that no administrator writes are left out") {
  const std::string job = joined({"NCCL_IB_HCA=\x1b[31m", "NCCL_NET=IB"}) +
                          "NCCL_SOCKET_IFNAME=" + std::string(5000, 'x') + '\0';
  const auto variables = probe_environment(job, true);
  CHECK(value_of(variables, "NCCL_IB_HCA") == "(unset)");
  CHECK(value_of(variables, "NCCL_SOCKET_IFNAME") == "(unset)");
  CHECK(value_of(variables, "NCCL_NET") == "IB");
}

TEST_CASE("apply removes what steers the libraries and leaves the rest") {
  ::setenv("NCCL_P2P_LEVEL", "SYS", 1);
  ::setenv("CUDA_VISIBLE_DEVICES", "7", 1);
  ::setenv("UCX_TLS", "rc", 1);
  ::setenv("COLLWATCH_KEPT", "yes", 1);
  apply({{"NCCL_RAS_ENABLE", "0"}});
  CHECK(now("NCCL_P2P_LEVEL") == "(unset)");
  CHECK(now("CUDA_VISIBLE_DEVICES") == "(unset)");
  CHECK(now("UCX_TLS") == "(unset)");
  CHECK(now("COLLWATCH_KEPT") == "yes");
  CHECK(now("NCCL_RAS_ENABLE") == "0");
}
