// SPDX-License-Identifier: Apache-2.0
//
// NVML at run time: what a GPU is doing and how it is, without a context on it. Old drivers lack
// some of the questions: no answer is then no trouble. Used by the probe's main thread.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "probes/model/result.h"
#include "probes/nccl/abi.h"

namespace collwatch::nccl_probe {

/// One GPU before anything is run on it; an empty optional is "it does not say".
struct DeviceFacts {
  std::string bus;
  std::string name;
  std::optional<std::uint64_t> free_bytes;
  int compute_mode = kNvmlComputeDefault;
  unsigned mps_clients = 0;
  std::optional<unsigned> processes;             ///< with a context on it; ours has none yet
  std::optional<std::uint64_t> uncorrected_ecc;  ///< since the driver was loaded
  bool retirement_pending = false;
  bool remapping_pending = false;
  bool remapping_failed = false;
  std::uint64_t slow_reasons = 0;
  unsigned pcie_width = 0, pcie_width_most = 0;  ///< 0: it does not say
  unsigned links_down = 0, links_up = 0;         ///< NVLinks
};

class Nvml {
 public:
  /// Loaded and initialised.
  static model::Result<Nvml> load();

  /// By PCI bus id, as CUDA names it.
  model::Result<DeviceFacts> look(const std::string& bus) const;

 private:
  struct Functions;
  explicit Nvml(const Functions* functions) : functions_(functions) {}
  const Functions* functions_;  ///< for the life of the process
};

/// What is not as it should be with it, a sentence each.
std::vector<std::string> troubles_of(const DeviceFacts& facts);

}  // namespace collwatch::nccl_probe
