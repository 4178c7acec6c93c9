// SPDX-License-Identifier: Apache-2.0
//
// A stand-in for libnvidia-ml.so.1, a test double. Script: free_mib N, compute_mode N, processes N
// (-1: it does not say), mps N, ecc N, pcie_width N, links_down N, slow N (bits), init_result N.
#include <cstdio>

#include "tests/support/standin/script.h"

namespace {
const standin::Script& script();
long number(const char* key, long otherwise) {
  return script().number(key, otherwise);
}
}  // namespace

extern "C" {

int nvmlInit_v2() {
  return static_cast<int>(number("init_result", 0));
}
const char* nvmlErrorString(int) {
  return "an error of the stand-in";
}
int nvmlDeviceGetHandleByPciBusId_v2(const char*, void** device) {
  static int any = 0;
  *device = &any;
  return 0;
}
int nvmlDeviceGetName(void*, char* out, unsigned size) {
  std::snprintf(out, size, "stand-in GPU");
  return 0;
}
struct Memory {
  unsigned long long total, free, used;
};
int nvmlDeviceGetMemoryInfo(void*, Memory* memory) {
  const auto free_bytes = static_cast<unsigned long long>(number("free_mib", 80000)) << 20;
  *memory = {free_bytes, free_bytes, 0};
  return 0;
}
int nvmlDeviceGetComputeMode(void*, int* mode) {
  *mode = static_cast<int>(number("compute_mode", 0));
  return 0;
}
int nvmlDeviceGetComputeRunningProcesses_v3(void*, unsigned* count, void*) {
  const long processes = number("processes", 0);
  if (processes < 0) return 3;  // not supported
  *count = static_cast<unsigned>(processes);
  return *count == 0 ? 0 : 7;
}
int nvmlDeviceGetMPSComputeRunningProcesses_v3(void*, unsigned* count, void*) {
  *count = static_cast<unsigned>(number("mps", 0));
  return *count == 0 ? 0 : 7;
}
int nvmlDeviceGetTotalEccErrors(void*, int, int, unsigned long long* errors) {
  *errors = static_cast<unsigned long long>(number("ecc", 0));
  return 0;
}
int nvmlDeviceGetRemappedRows(void*, unsigned* corrected, unsigned* uncorrected, unsigned* pending,
                              unsigned* failed) {
  *corrected = *uncorrected = *pending = *failed = 0;
  return 0;
}
int nvmlDeviceGetCurrentClocksThrottleReasons(void*, unsigned long long* reasons) {
  *reasons = static_cast<unsigned long long>(number("slow", 0));
  return 0;
}
int nvmlDeviceGetCurrPcieLinkWidth(void*, unsigned* width) {
  *width = static_cast<unsigned>(number("pcie_width", 16));
  return 0;
}
int nvmlDeviceGetMaxPcieLinkWidth(void*, unsigned* width) {
  *width = 16;
  return 0;
}
int nvmlDeviceGetNvLinkState(void*, unsigned link, int* active) {
  if (link >= 4) return 3;
  *active = static_cast<long>(link) < number("links_down", 0) ? 0 : 1;
  return 0;
}
}

namespace {
const standin::Script& script() {
  static const standin::Script all(reinterpret_cast<const void*>(&nvmlInit_v2));
  return all;
}
}  // namespace
