// SPDX-License-Identifier: Apache-2.0
//
// What a failing call of NCCL or CUDA means in our words. Return codes name a class, the library's
// last warning the cause: a duplicate GPU and a wrong argument have the same code. Pure.
#pragma once

#include <string>

#include "probes/model/vocabulary.h"
#include "probes/nccl/abi.h"

namespace collwatch::nccl_probe {

struct Failure {
  model::Outcome outcome = model::Outcome::error;
  model::Fingerprint fingerprint = model::Fingerprint::none;
  std::string text;
};

/// Is no collective under way yet in that phase?
bool is_before_collectives(model::Phase phase);

/// `words`: ncclGetErrorString and ncclGetLastError.
Failure nccl_failure(model::Phase phase, NcclResult result, const std::string& words);

Failure cuda_failure(int result, const std::string& words);

/// Nothing came in time. `words`: what the library had warned of by then; may be empty.
Failure late(model::Phase phase, const std::string& words);

}  // namespace collwatch::nccl_probe
