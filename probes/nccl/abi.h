// SPDX-License-Identifier: Apache-2.0
//
// The part of NCCL's, the CUDA driver's and NVML's binary interface that the probe calls, in our
// own words: no header of theirs is needed to build, and none of their libraries to link. Only what
// has not changed since NCCL 2.10, CUDA 11 and drivers of their time, or is looked up by its
// version. Plain types; used inside probes/nccl and by the stand-ins of tests/support.
#pragma once

#include <climits>
#include <cstddef>
#include <cstdint>

namespace collwatch::nccl_probe {

// --- NCCL -------------------------------------------------------------------------------------

enum NcclResult : int {
  kNcclSuccess = 0,
  kNcclUnhandledCudaError = 1,
  kNcclSystemError = 2,
  kNcclInternalError = 3,
  kNcclInvalidArgument = 4,
  kNcclInvalidUsage = 5,
  kNcclRemoteError = 6,  // since 2.13
  kNcclInProgress = 7    // since 2.14
};

struct NcclUniqueId {
  char bytes[128];
};

using NcclComm = void*;
using CudaStream = void*;

inline constexpr int kNcclUint32 = 3;
inline constexpr int kNcclSum = 0;

/// Versions as ncclGetVersion counts them since 2.9.
constexpr int nccl_version(int major, int minor, int patch) {
  return major * 10000 + minor * 100 + patch;
}
inline constexpr int kOldestNccl = nccl_version(2, 10, 0);

// --- CUDA driver ------------------------------------------------------------------------------

using CudaDevice = int;
using CudaContext = void*;
using CudaEvent = void*;
using CudaPointer = unsigned long long;

enum CudaResult : int {
  kCudaSuccess = 0,
  kCudaOutOfMemory = 2,
  kCudaDeviceUnavailable = 46,
  kCudaNoDevice = 100,
  kCudaNotReady = 600,
  kCudaSystemDriverMismatch = 803,
  kCudaCompatNotSupported = 804
};

inline constexpr unsigned kCudaStreamNonBlocking = 1;
inline constexpr unsigned kCudaEventDefault = 0;

// --- NVML -------------------------------------------------------------------------------------

using NvmlDevice = void*;

enum NvmlResult : int { kNvmlSuccess = 0, kNvmlNotSupported = 3, kNvmlInsufficientSize = 7 };

struct NvmlMemory {
  unsigned long long total, free, used;
};

inline constexpr int kNvmlComputeDefault = 0;
inline constexpr int kNvmlUncorrected = 1;
inline constexpr int kNvmlVolatile = 0;

/// Reasons for which a GPU slows down by itself; those of power and temperature that hurt.
inline constexpr unsigned long long kNvmlSlowHardware = 0x08;
inline constexpr unsigned long long kNvmlSlowSoftwareThermal = 0x20;
inline constexpr unsigned long long kNvmlSlowThermal = 0x40;
inline constexpr unsigned long long kNvmlSlowPowerBrake = 0x80;
inline constexpr unsigned kNvmlMostLinks = 18;

}  // namespace collwatch::nccl_probe
