// SPDX-License-Identifier: Apache-2.0
//
// Which source can ever see which fingerprint. Only these pairs become series of
// collwatch_fingerprint_events_total, preset to 0, so that increase() sees the first event and a
// page carries no pair that cannot happen. Pure; used by render.cpp and its tests.
#pragma once

#include "probes/model/vocabulary.h"

namespace collwatch::exporters {

constexpr bool can_see(model::Source source, model::Fingerprint fingerprint) {
  using model::Fingerprint;
  using model::Source;
  if (fingerprint == Fingerprint::none) return false;
  const bool is_nccl = fingerprint >= Fingerprint::nccl_watchdog_timeout &&
                       fingerprint <= Fingerprint::nccl_init_failed;
  switch (source) {
    case Source::probe:
      // All that a collective of our own can run into. It cannot be carried by the wrong backend,
      // and what ends a training process is seen elsewhere.
      return fingerprint <= Fingerprint::cuda_oom &&
             fingerprint != Fingerprint::gloo_fallback_on_gpu;
    case Source::log:
      return true;
    case Source::process:
      return fingerprint == Fingerprint::gloo_fallback_on_gpu ||
             fingerprint == Fingerprint::gloo_wrong_interface ||
             fingerprint == Fingerprint::version_mismatch ||
             fingerprint == Fingerprint::worker_exit || fingerprint == Fingerprint::job_cancelled;
    case Source::kernel:
      // Links that go down are those that RDMA and sockets use alike.
      return fingerprint == Fingerprint::nccl_ib_error ||
             fingerprint == Fingerprint::gpu_hardware_xid ||
             fingerprint == Fingerprint::host_oom_kill;
    case Source::ras:
      // NCCL's RAS also sees ranks whose collective counts have drifted apart, and CUDA errors that
      // ended a communicator.
      return is_nccl || fingerprint == Fingerprint::collective_desync ||
             fingerprint == Fingerprint::cuda_error;
  }
  return false;
}

}  // namespace collwatch::exporters
