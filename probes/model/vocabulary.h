// SPDX-License-Identifier: Apache-2.0
//
// The words everybody speaks: outcomes, phases, kinds, reasons, states, fingerprints. Every
// enumerator is spelled exactly as it appears in metric labels, JSON, alerts and docs, so that one
// grep from an alert lands on the code, the catalogue and the test. Added to, never renamed.
// Plain enums, no I/O, no threads; included by every folder.
#pragma once

#include <array>
#include <cstddef>
#include <optional>
#include <string_view>

namespace collwatch::model {

/// How one probe (edge round, collective, rendezvous) ended.
enum class Outcome {
  ok, timeout, peer_lost, refused, unreachable, never_joined, init_failed, misuse, unsupported,
  mismatch, data_corruption, worker_stuck, worker_crash, error
};

/// What a worker is about to do; announced before it is entered, so a hang is named by its phase.
enum class Phase { device_init, rendezvous, connect, warmup, collective, verify, teardown };

enum class Collective { barrier, allreduce, broadcast, allgather, alltoall, reduce_scatter };

/// What a verdict is about. rank, gpu and nic are reserved.
enum class Kind {
  node, node_egress, node_ingress, link, directed_link, rack, rail, partition, store, misconfig,
  self, rank, gpu, nic
};

enum class Reason {
  agent_down, worker_crash, worker_stuck, host_stall, unreachable, isolated, refused, never_joined,
  slow, lossy, size_blackhole, data_corruption, version_mismatch, config_mismatch, wrong_interface,
  duplicate_name, clock_skew, store_down
};

/// suspect: first evidence, nobody is told. ticket: office hours. page: somebody wakes up.
enum class VerdictState { suspect, ticket, page };

/// direct: the observer has a failing edge of its own in the entity; heard: only others' word.
enum class View { direct, heard };

enum class Confidence { low, medium, high };

enum class MemberState { ok, suspect, down, never_joined, left, stale_view };

enum class SkipReason {
  not_installed, no_device, no_library, driver_too_old, mps, exclusive, low_memory, job_running,
  stale_view, unavailable
};

enum class Source { probe, log, process, kernel, ras };

/// What the daemon's own worker is doing, as told to peers that ask (reasons in design 1.5).
enum class WorkerState { running, starting, stuck, absent };

enum class Fingerprint {
  gloo_collective_timeout, gloo_peer_lost, gloo_gpu_tensor_misuse, gloo_unsupported_op,
  gloo_init_failed, gloo_wrong_interface, gloo_fallback_on_gpu, store_timeout, store_unreachable,
  store_port_in_use, file_store_not_shared, version_mismatch, collective_desync, data_corruption,
  straggler, nccl_watchdog_timeout, nccl_system_error, nccl_ib_error, nccl_socket_error,
  nccl_invalid_usage, nccl_duplicate_gpu, nccl_remote_error, nccl_init_failed, cuda_error,
  cuda_oom, gpu_hardware_xid, host_oom_kill, worker_exit, job_cancelled, none
};

/// The name table of one enum, in enumerator order.
template <typename E>
struct Names;

#define COLLWATCH_NAMES(E, ...)                                      \
  template <>                                                        \
  struct Names<E> {                                                  \
    static constexpr auto value = std::to_array<std::string_view>({__VA_ARGS__}); \
  }

COLLWATCH_NAMES(Outcome, "ok", "timeout", "peer_lost", "refused", "unreachable", "never_joined",
                "init_failed", "misuse", "unsupported", "mismatch", "data_corruption",
                "worker_stuck", "worker_crash", "error");
COLLWATCH_NAMES(Phase, "device_init", "rendezvous", "connect", "warmup", "collective", "verify",
                "teardown");
COLLWATCH_NAMES(Collective, "barrier", "allreduce", "broadcast", "allgather", "alltoall",
                "reduce_scatter");
COLLWATCH_NAMES(Kind, "node", "node_egress", "node_ingress", "link", "directed_link", "rack",
                "rail", "partition", "store", "misconfig", "self", "rank", "gpu", "nic");
COLLWATCH_NAMES(Reason, "agent_down", "worker_crash", "worker_stuck", "host_stall", "unreachable",
                "isolated", "refused", "never_joined", "slow", "lossy", "size_blackhole",
                "data_corruption", "version_mismatch", "config_mismatch", "wrong_interface",
                "duplicate_name", "clock_skew", "store_down");
COLLWATCH_NAMES(VerdictState, "suspect", "ticket", "page");
COLLWATCH_NAMES(View, "direct", "heard");
COLLWATCH_NAMES(Confidence, "low", "medium", "high");
COLLWATCH_NAMES(MemberState, "ok", "suspect", "down", "never_joined", "left", "stale_view");
COLLWATCH_NAMES(SkipReason, "not_installed", "no_device", "no_library", "driver_too_old", "mps",
                "exclusive", "low_memory", "job_running", "stale_view", "unavailable");
COLLWATCH_NAMES(Source, "probe", "log", "process", "kernel", "ras");
COLLWATCH_NAMES(WorkerState, "running", "starting", "stuck", "absent");
COLLWATCH_NAMES(Fingerprint, "gloo_collective_timeout", "gloo_peer_lost",
                "gloo_gpu_tensor_misuse", "gloo_unsupported_op", "gloo_init_failed",
                "gloo_wrong_interface", "gloo_fallback_on_gpu", "store_timeout",
                "store_unreachable", "store_port_in_use", "file_store_not_shared",
                "version_mismatch", "collective_desync", "data_corruption", "straggler",
                "nccl_watchdog_timeout", "nccl_system_error", "nccl_ib_error",
                "nccl_socket_error", "nccl_invalid_usage", "nccl_duplicate_gpu",
                "nccl_remote_error", "nccl_init_failed", "cuda_error", "cuda_oom",
                "gpu_hardware_xid", "host_oom_kill", "worker_exit", "job_cancelled", "none");
#undef COLLWATCH_NAMES

template <typename E>
inline constexpr std::size_t kCount = Names<E>::value.size();

template <typename E>
constexpr std::string_view name(E value) {
  return Names<E>::value[static_cast<std::size_t>(value)];
}

/// The enumerator spelled `text`, or nothing.
template <typename E>
constexpr std::optional<E> parse(std::string_view text) {
  for (std::size_t i = 0; i < kCount<E>; ++i) {
    if (Names<E>::value[i] == text) return static_cast<E>(i);
  }
  return std::nullopt;
}

// A name table that lags behind its enum would label everything after the gap wrongly.
static_assert(kCount<Fingerprint> == static_cast<std::size_t>(Fingerprint::none) + 1);
static_assert(kCount<Kind> == static_cast<std::size_t>(Kind::nic) + 1);
static_assert(kCount<Reason> == static_cast<std::size_t>(Reason::store_down) + 1);
static_assert(kCount<Collective> == static_cast<std::size_t>(Collective::reduce_scatter) + 1);
static_assert(kCount<Outcome> == static_cast<std::size_t>(Outcome::error) + 1);
static_assert(kCount<SkipReason> == static_cast<std::size_t>(SkipReason::unavailable) + 1);

}  // namespace collwatch::model
