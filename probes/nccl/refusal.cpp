// SPDX-License-Identifier: Apache-2.0
//
// The rules, the most lasting circumstance first.
#include "probes/nccl/refusal.h"

#include <cstdlib>

namespace collwatch::nccl_probe {

using model::SkipReason;

namespace {

std::optional<Refusal> why_not_device(const DeviceFacts& device, bool beside_jobs) {
  if (device.compute_mode != kNvmlComputeDefault) {
    return Refusal{SkipReason::exclusive,
                   device.bus + " admits one process or none (its compute mode is " +
                       std::to_string(device.compute_mode) + ", not default)"};
  }
  if (device.mps_clients > 0) {
    return Refusal{SkipReason::mps, "MPS serves " + std::to_string(device.mps_clients) +
                                        " processes on " + device.bus};
  }
  if (!device.processes && !beside_jobs) {
    return Refusal{SkipReason::unavailable, "NVML does not say who uses " + device.bus};
  }
  if (device.processes.value_or(0) > 0 && !beside_jobs) {
    return Refusal{SkipReason::job_running,
                   std::to_string(*device.processes) + " other processes use " + device.bus};
  }
  if (!device.free_bytes) {
    return Refusal{SkipReason::unavailable,
                   "NVML does not say how much memory of " + device.bus + " is free"};
  }
  if (*device.free_bytes < kFreeBytesNeeded) {
    return Refusal{SkipReason::low_memory,
                   device.bus + " has " + std::to_string(*device.free_bytes >> 20) +
                       " MiB free; the probe wants " + std::to_string(kFreeBytesNeeded >> 20)};
  }
  return std::nullopt;
}

}  // namespace

std::optional<Refusal> why_not_probe(const Circumstances& circumstances) {
  if (circumstances.devices.empty()) {
    return Refusal{SkipReason::no_device, "the CUDA driver finds no GPU"};
  }
  // Its clients' kernels run side by side: two communicators there can wait for each other.
  if (circumstances.mps_daemon) {
    return Refusal{SkipReason::mps, "an MPS control daemon runs here"};
  }
  for (const DeviceFacts& device : circumstances.devices) {
    if (auto refusal = why_not_device(device, circumstances.beside_jobs)) return refusal;
  }
  return std::nullopt;
}

std::optional<Refusal> why_not_this_driver(const std::string& built, const std::string& driver) {
  if (built.empty() || driver.empty()) return std::nullopt;
  if (std::atoi(driver.c_str()) >= std::atoi(built.c_str())) return std::nullopt;
  return Refusal{SkipReason::driver_too_old, "this NCCL was built for CUDA " + built +
                                                 ", the driver here knows CUDA " + driver};
}

}  // namespace collwatch::nccl_probe
