// SPDX-License-Identifier: Apache-2.0
//
// libcuda at run time: the dozen functions of the driver's interface that the probe needs. The
// runtime library is not needed: NCCL brings its own and uses the context that is current. Used by
// the probe's main thread.
#pragma once

#include <cstddef>
#include <string>

#include "probes/model/result.h"
#include "probes/nccl/abi.h"

namespace collwatch::nccl_probe {

struct CudaDriver {
  /// ErrorCode::not_found: there is no driver here.
  static model::Result<CudaDriver> load();

  int (*init)(unsigned) = nullptr;
  int (*driver_version)(int*) = nullptr;  // 13000 is 13.0
  int (*device_count)(int*) = nullptr;
  int (*device_get)(CudaDevice*, int) = nullptr;
  int (*device_bus)(char*, int, CudaDevice) = nullptr;
  int (*device_name)(char*, int, CudaDevice) = nullptr;
  int (*context_retain)(CudaContext*, CudaDevice) = nullptr;
  int (*context_set)(CudaContext) = nullptr;
  int (*priority_range)(int*, int*) = nullptr;
  int (*stream_create)(CudaStream*, unsigned, int) = nullptr;
  int (*event_create)(CudaEvent*, unsigned) = nullptr;
  int (*event_record)(CudaEvent, CudaStream) = nullptr;
  int (*event_query)(CudaEvent) = nullptr;
  int (*event_elapsed)(float*, CudaEvent, CudaEvent) = nullptr;
  int (*allocate)(CudaPointer*, std::size_t) = nullptr;
  int (*release)(CudaPointer) = nullptr;
  int (*to_device)(CudaPointer, const void*, std::size_t) = nullptr;
  int (*to_host)(void*, CudaPointer, std::size_t) = nullptr;
  int (*error_string)(int, const char**) = nullptr;

  /// "CUDA error 2: out of memory".
  std::string words(int result) const;
};

/// 13010 -> "13.1".
std::string cuda_version_text(int version);

}  // namespace collwatch::nccl_probe
