// SPDX-License-Identifier: Apache-2.0
//
// The questions, and what of the answers is worth a sentence.
#include "probes/nccl/nvml.h"

#include <optional>

#include "probes/nccl/shared_library.h"

namespace collwatch::nccl_probe {

struct Nvml::Functions {
  int (*init)() = nullptr;
  int (*by_bus)(const char*, NvmlDevice*) = nullptr;
  const char* (*error_string)(int) = nullptr;
  // From here on some driver may lack it.
  int (*memory)(NvmlDevice, NvmlMemory*) = nullptr;
  int (*name)(NvmlDevice, char*, unsigned) = nullptr;
  int (*compute_mode)(NvmlDevice, int*) = nullptr;
  int (*processes)(NvmlDevice, unsigned*, void*) = nullptr;
  int (*mps_processes)(NvmlDevice, unsigned*, void*) = nullptr;
  int (*ecc)(NvmlDevice, int, int, unsigned long long*) = nullptr;
  int (*retired_pending)(NvmlDevice, int*) = nullptr;
  int (*remapped)(NvmlDevice, unsigned*, unsigned*, unsigned*, unsigned*) = nullptr;
  int (*slow)(NvmlDevice, unsigned long long*) = nullptr;
  int (*width)(NvmlDevice, unsigned*) = nullptr;
  int (*width_most)(NvmlDevice, unsigned*) = nullptr;
  int (*link_state)(NvmlDevice, unsigned, int*) = nullptr;
};

namespace {

template <typename F>
void bind_newest(const SharedLibrary& library, F*& target, const char* newest, const char* older) {
  if (!library.bind(target, newest)) library.bind(target, older);
}

/// NVML counts into an array that we do not bring: "too small" comes with the number.
std::optional<unsigned> count_of(int (*question)(NvmlDevice, unsigned*, void*),
                                 NvmlDevice device) {
  unsigned count = 0;
  if (question == nullptr) return std::nullopt;
  const int result = question(device, &count, nullptr);
  if (result != kNvmlSuccess && result != kNvmlInsufficientSize) return std::nullopt;
  return count;
}

}  // namespace

model::Result<Nvml> Nvml::load() {
  auto library = SharedLibrary::open("libnvidia-ml.so.1");
  if (!library) return model::fail(library.error());
  auto* f = new Functions;  // as long as the process, like the library
  if (!library->bind(f->init, "nvmlInit_v2") ||
      !library->bind(f->by_bus, "nvmlDeviceGetHandleByPciBusId_v2") ||
      !library->bind(f->error_string, "nvmlErrorString")) {
    delete f;
    return model::fail(model::ErrorCode::invalid_argument, "libnvidia-ml.so.1 lacks functions");
  }
  library->bind(f->memory, "nvmlDeviceGetMemoryInfo");
  library->bind(f->name, "nvmlDeviceGetName");
  library->bind(f->compute_mode, "nvmlDeviceGetComputeMode");
  bind_newest(*library, f->processes, "nvmlDeviceGetComputeRunningProcesses_v3",
              "nvmlDeviceGetComputeRunningProcesses");
  bind_newest(*library, f->mps_processes, "nvmlDeviceGetMPSComputeRunningProcesses_v3",
              "nvmlDeviceGetMPSComputeRunningProcesses");
  library->bind(f->ecc, "nvmlDeviceGetTotalEccErrors");
  library->bind(f->retired_pending, "nvmlDeviceGetRetiredPagesPendingStatus");
  library->bind(f->remapped, "nvmlDeviceGetRemappedRows");
  bind_newest(*library, f->slow, "nvmlDeviceGetCurrentClocksEventReasons",
              "nvmlDeviceGetCurrentClocksThrottleReasons");
  library->bind(f->width, "nvmlDeviceGetCurrPcieLinkWidth");
  library->bind(f->width_most, "nvmlDeviceGetMaxPcieLinkWidth");
  library->bind(f->link_state, "nvmlDeviceGetNvLinkState");
  if (const int result = f->init(); result != kNvmlSuccess) {
    return model::fail(model::ErrorCode::io, std::string("NVML: ") + f->error_string(result));
  }
  return Nvml(f);
}

model::Result<DeviceFacts> Nvml::look(const std::string& bus) const {
  const Functions& f = *functions_;
  NvmlDevice device = nullptr;
  if (const int result = f.by_bus(bus.c_str(), &device); result != kNvmlSuccess) {
    return model::fail(model::ErrorCode::io,
                       "NVML about " + bus + ": " + std::string(f.error_string(result)));
  }
  DeviceFacts facts;
  facts.bus = bus;
  const auto asked = [](int result) { return result == kNvmlSuccess; };
  char name[96] = {};
  if (f.name != nullptr && asked(f.name(device, name, sizeof name))) facts.name = name;
  NvmlMemory memory{};
  if (f.memory != nullptr && asked(f.memory(device, &memory))) facts.free_bytes = memory.free;
  if (f.compute_mode != nullptr) (void)f.compute_mode(device, &facts.compute_mode);
  facts.processes = count_of(f.processes, device);
  facts.mps_clients = count_of(f.mps_processes, device).value_or(0);
  unsigned long long number = 0;
  if (f.ecc != nullptr && asked(f.ecc(device, kNvmlUncorrected, kNvmlVolatile, &number))) {
    facts.uncorrected_ecc = number;
  }
  int pending = 0;
  if (f.retired_pending != nullptr && asked(f.retired_pending(device, &pending))) {
    facts.retirement_pending = pending != 0;
  }
  unsigned corrected = 0;
  unsigned uncorrected = 0;
  unsigned waiting = 0;
  unsigned failed = 0;
  if (f.remapped != nullptr &&
      asked(f.remapped(device, &corrected, &uncorrected, &waiting, &failed))) {
    facts.remapping_pending = waiting != 0;
    facts.remapping_failed = failed != 0;
  }
  if (f.slow != nullptr && asked(f.slow(device, &number))) facts.slow_reasons = number;
  if (f.width != nullptr) (void)f.width(device, &facts.pcie_width);
  if (f.width_most != nullptr) (void)f.width_most(device, &facts.pcie_width_most);
  for (unsigned link = 0; f.link_state != nullptr && link < kNvmlMostLinks; ++link) {
    int active = 0;
    if (!asked(f.link_state(device, link, &active))) continue;
    ++(active != 0 ? facts.links_up : facts.links_down);
  }
  return facts;
}

std::vector<std::string> troubles_of(const DeviceFacts& facts) {
  std::vector<std::string> troubles;
  if (facts.uncorrected_ecc.value_or(0) > 0) {
    troubles.push_back(std::to_string(*facts.uncorrected_ecc) +
                       " uncorrected ECC errors since the driver was loaded");
  }
  if (facts.retirement_pending || facts.remapping_pending) {
    troubles.emplace_back("bad memory waits for a reset of the GPU to be taken out of use");
  }
  if (facts.remapping_failed) troubles.emplace_back("bad memory could not be taken out of use");
  if ((facts.slow_reasons & (kNvmlSlowThermal | kNvmlSlowSoftwareThermal)) != 0) {
    troubles.emplace_back("slowed down by its temperature");
  }
  if ((facts.slow_reasons & kNvmlSlowPowerBrake) != 0) {
    troubles.emplace_back("slowed down by the power supply");
  }
  if (facts.pcie_width > 0 && facts.pcie_width < facts.pcie_width_most) {
    troubles.push_back("PCIe link of " + std::to_string(facts.pcie_width) + " lanes instead of " +
                       std::to_string(facts.pcie_width_most));
  }
  // Without any that is up they may simply not be wired.
  if (facts.links_up > 0 && facts.links_down > 0) {
    troubles.push_back(std::to_string(facts.links_down) + " of " +
                       std::to_string(facts.links_up + facts.links_down) + " NVLinks are down");
  }
  return troubles;
}

}  // namespace collwatch::nccl_probe
