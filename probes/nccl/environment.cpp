// SPDX-License-Identifier: Apache-2.0
//
// Two allow lists and a fixed set.
#include "probes/nccl/environment.h"

#include <algorithm>
#include <array>
#include <cstdlib>
#include <string_view>

extern char** environ;

namespace collwatch::nccl_probe {
namespace {

constexpr std::size_t kLongestValue = 512;

// How the job reaches its peers; harmless in anybody's hands.
constexpr std::array<std::string_view, 15> kReachability = {"NCCL_SOCKET_IFNAME",
                                                            "NCCL_SOCKET_FAMILY",
                                                            "NCCL_IB_HCA",
                                                            "NCCL_IB_GID_INDEX",
                                                            "NCCL_IB_TC",
                                                            "NCCL_IB_SL",
                                                            "NCCL_IB_PKEY",
                                                            "NCCL_IB_ADDR_FAMILY",
                                                            "NCCL_IB_ROCE_VERSION_NUM",
                                                            "NCCL_IB_DISABLE",
                                                            "NCCL_NET",
                                                            "NCCL_CROSS_NIC",
                                                            "NCCL_P2P_DISABLE",
                                                            "NCCL_SHM_DISABLE",
                                                            "NCCL_COMM_ID_IFNAME"};
// Files that would be loaded or read: only if the job's user is ours.
constexpr std::array<std::string_view, 2> kFiles = {"NCCL_NET_PLUGIN", "NCCL_TOPO_FILE"};

constexpr std::array<std::pair<std::string_view, std::string_view>, 18> kFixed = {{
    // Otherwise the probe would join the job's status port and answer its clients.
    {"NCCL_RAS_ENABLE", "0"},
    {"NCCL_DEBUG", "WARN"},
    {"NCCL_CONF_FILE", "/dev/null"},
    // Small: one block, one channel, little memory, one path through the code.
    {"NCCL_MIN_CTAS", "1"},
    {"NCCL_MAX_CTAS", "1"},
    {"NCCL_MIN_NCHANNELS", "1"},
    {"NCCL_MAX_NCHANNELS", "1"},
    {"NCCL_CGA_CLUSTER_SIZE", "0"},
    {"NCCL_BUFFSIZE", "1048576"},
    {"NCCL_ALGO", "Ring"},
    {"NCCL_NVLS_ENABLE", "0"},
    {"NCCL_MNNVL_ENABLE", "0"},
    {"NCCL_PROFILER_PLUGIN", "none"},
    {"NCCL_TUNER_PLUGIN", "none"},
    // A dead path says so itself after 4 s, and not only by our deadline.
    {"NCCL_IB_TIMEOUT", "17"},
    {"NCCL_COMM_BLOCKING", "0"},
    // Devices are numbered as NVML does, code is loaded as it is needed.
    {"CUDA_DEVICE_ORDER", "PCI_BUS_ID"},
    {"CUDA_MODULE_LOADING", "LAZY"},
}};

template <std::size_t N>
bool among(const std::array<std::string_view, N>& names, std::string_view name) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

bool printable(std::string_view value) {
  return value.size() <= kLongestValue &&
         std::all_of(value.begin(), value.end(), [](char c) { return c >= ' ' && c <= '~'; });
}

bool steers_a_library(std::string_view name) {
  constexpr std::array<std::string_view, 6> kPrefixes = {"NCCL_", "CUDA_", "NVIDIA_",
                                                         "UCX_",  "FI_",   "OFI_"};
  return std::any_of(kPrefixes.begin(), kPrefixes.end(), [&](std::string_view prefix) {
    return name.substr(0, prefix.size()) == prefix;
  });
}

}  // namespace

Variables probe_environment(const std::string& job, bool same_user) {
  Variables variables;
  for (const auto& [name, value] : kFixed) variables.emplace_back(name, value);
  std::string_view rest = job;
  while (!rest.empty()) {
    const std::string_view entry = rest.substr(0, rest.find('\0'));
    rest.remove_prefix(std::min(rest.size(), entry.size() + 1));
    const std::size_t equals = entry.find('=');
    if (equals == std::string_view::npos) continue;
    const std::string_view name = entry.substr(0, equals);
    const std::string_view value = entry.substr(equals + 1);
    const bool wanted = among(kReachability, name) || (same_user && among(kFiles, name));
    if (wanted && printable(value)) variables.emplace_back(name, value);
  }
  return variables;
}

void apply(const Variables& variables) {
  std::vector<std::string> unwanted;
  for (char** entry = environ; entry != nullptr && *entry != nullptr; ++entry) {
    const std::string_view text = *entry;
    const std::string_view name = text.substr(0, text.find('='));
    if (steers_a_library(name)) unwanted.emplace_back(name);
  }
  for (const std::string& name : unwanted) ::unsetenv(name.c_str());
  for (const auto& [name, value] : variables) ::setenv(name.c_str(), value.c_str(), 1);
}

}  // namespace collwatch::nccl_probe
