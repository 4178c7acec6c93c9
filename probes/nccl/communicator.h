// SPDX-License-Identifier: Apache-2.0
//
// One communicator over some of this node's GPUs: made, used for verified collectives and taken
// down, all by calls that come back at once and are polled until a deadline, where the library can
// (2.14 and later). A failure leaves everything as it is: the process ends, and with it what hangs.
// On the probe's main thread; nothing here is ever aborted or waited for.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <tl/expected.hpp>
#include <vector>

#include "probes/nccl/cuda_driver.h"
#include "probes/nccl/nccl_library.h"
#include "probes/nccl/outcome.h"
#include "probes/nccl/values.h"

namespace collwatch::nccl_probe {

using Clock = std::chrono::steady_clock;
using Microseconds = std::chrono::microseconds;

/// Either it went well or that is what happened.
template <typename T>
using Attempt = tl::expected<T, Failure>;

struct Times {
  Microseconds wall{0};
  Microseconds device{0};  ///< of the slowest GPU
};

class Communicator {
 public:
  struct Plan {
    std::vector<CudaDevice> devices;  ///< this node's, one rank each
    int first_rank = 0;
    int ranks = 0;
    NcclUniqueId id{};
    Clock::time_point deadline;
  };

  Communicator(const NcclLibrary& nccl, const CudaDriver& cuda, Plan plan);

  /// Contexts, streams and events on the GPUs.
  Attempt<void> open_devices();
  Attempt<void> connect();
  /// One collective, its result verified.
  Attempt<Times> run(const Shape& shape);
  Attempt<void> close();

 private:
  struct Lane {
    CudaDevice device = 0;
    int rank = 0;
    CudaContext context = nullptr;
    CudaStream stream = nullptr;
    CudaEvent before = nullptr;
    CudaEvent after = nullptr;
    NcclComm comm = nullptr;
    CudaPointer in = 0;
    CudaPointer out = 0;
  };

  Attempt<void> cuda_ok(int result) const;
  Attempt<void> nccl_ok(NcclResult result, model::Phase phase) const;
  Attempt<void> until_settled(model::Phase phase);
  Attempt<void> until_finished(model::Phase phase);
  Attempt<void> fill(Lane& lane, const Shape& shape);
  Attempt<void> enqueue(const Lane& lane, const Shape& shape);
  Attempt<void> verify(Lane& lane, const Shape& shape);
  Attempt<void> for_each_lane(const std::function<Attempt<void>(Lane&)>& step);
  Failure too_late(model::Phase phase) const;

  const NcclLibrary& nccl_;
  const CudaDriver& cuda_;
  Plan plan_;
  NcclConfig config_;
  std::vector<Lane> lanes_;
};

}  // namespace collwatch::nccl_probe
