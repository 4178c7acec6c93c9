// SPDX-License-Identifier: Apache-2.0
//
// Everything before the first call that touches a GPU: choose and load the library, the driver and
// NVML, look at the GPUs, and refuse where the probe could hurt or would tell nothing. Called once,
// on the probe's main thread, before there is any other but the guard's.
#pragma once

#include <string>
#include <variant>
#include <vector>

#include "probes/nccl/cuda_driver.h"
#include "probes/nccl/nccl_library.h"
#include "probes/nccl/nvml.h"
#include "probes/nccl/outcome.h"
#include "probes/nccl/refusal.h"
#include "probes/wire/nccl_message.h"

namespace collwatch::nccl_probe {

struct Surveyed {
  NcclLibrary nccl;
  CudaDriver cuda;
  std::string library_note;
  std::string driver;  ///< "13.0"
  std::vector<CudaDevice> devices;
  std::vector<DeviceFacts> facts;
};

/// A Refusal where it should not run, a Failure where it should and a library says no.
using Survey = std::variant<Surveyed, Refusal, Failure>;

/// Changes this process' environment first.
Survey survey(const wire::NcclPrepare& request);

}  // namespace collwatch::nccl_probe
