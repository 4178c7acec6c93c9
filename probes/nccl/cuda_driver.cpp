// SPDX-License-Identifier: Apache-2.0
//
// Symbols into pointers.
#include "probes/nccl/cuda_driver.h"

#include "probes/nccl/shared_library.h"

namespace collwatch::nccl_probe {

model::Result<CudaDriver> CudaDriver::load() {
  auto library = SharedLibrary::open("libcuda.so.1");
  if (!library) return model::fail(library.error());
  CudaDriver cuda;
  const bool complete = library->bind(cuda.init, "cuInit") &&
                        library->bind(cuda.driver_version, "cuDriverGetVersion") &&
                        library->bind(cuda.device_count, "cuDeviceGetCount") &&
                        library->bind(cuda.device_get, "cuDeviceGet") &&
                        library->bind(cuda.device_bus, "cuDeviceGetPCIBusId") &&
                        library->bind(cuda.device_name, "cuDeviceGetName") &&
                        library->bind(cuda.context_retain, "cuDevicePrimaryCtxRetain") &&
                        library->bind(cuda.context_set, "cuCtxSetCurrent") &&
                        library->bind(cuda.priority_range, "cuCtxGetStreamPriorityRange") &&
                        library->bind(cuda.stream_create, "cuStreamCreateWithPriority") &&
                        library->bind(cuda.event_create, "cuEventCreate") &&
                        library->bind(cuda.event_record, "cuEventRecord") &&
                        library->bind(cuda.event_query, "cuEventQuery") &&
                        library->bind(cuda.event_elapsed, "cuEventElapsedTime") &&
                        library->bind(cuda.allocate, "cuMemAlloc_v2") &&
                        library->bind(cuda.release, "cuMemFree_v2") &&
                        library->bind(cuda.to_device, "cuMemcpyHtoD_v2") &&
                        library->bind(cuda.to_host, "cuMemcpyDtoH_v2") &&
                        library->bind(cuda.error_string, "cuGetErrorString");
  if (!complete) {
    return model::fail(model::ErrorCode::invalid_argument,
                       "libcuda.so.1 lacks functions that every driver for CUDA 11 and later has");
  }
  return cuda;
}

std::string CudaDriver::words(int result) const {
  const char* text = nullptr;
  const bool known = error_string(result, &text) == kCudaSuccess && text != nullptr;
  return "CUDA error " + std::to_string(result) + (known ? ": " + std::string(text) : "");
}

std::string cuda_version_text(int version) {
  return std::to_string(version / 1000) + "." + std::to_string(version % 1000 / 10);
}

}  // namespace collwatch::nccl_probe
