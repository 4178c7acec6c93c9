// SPDX-License-Identifier: Apache-2.0
//
// When the probe does not touch a GPU, and why: pure rules over what is known before anything is
// run on it. Whatever could hurt a job, or could not tell us anything, is a refusal.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "probes/model/vocabulary.h"
#include "probes/nccl/nvml.h"

namespace collwatch::nccl_probe {

struct Refusal {
  model::SkipReason reason = model::SkipReason::unavailable;
  std::string text;
};

/// A context, NCCL's buffers and ours, and as much again for the job to grow into.
inline constexpr std::uint64_t kFreeBytesNeeded = std::uint64_t{2} << 30;

struct Circumstances {
  std::vector<DeviceFacts> devices;
  bool mps_daemon = false;   ///< its control pipe is there
  bool beside_jobs = false;  ///< the mode allows it
};

std::optional<Refusal> why_not_probe(const Circumstances& circumstances);

/// NCCL was built for CUDA `built` ("13.0"), the driver brings `driver` ("12.4"): within a major
/// version any driver will do. Empty ones are not known and are tried.
std::optional<Refusal> why_not_this_driver(const std::string& built, const std::string& driver);

}  // namespace collwatch::nccl_probe
