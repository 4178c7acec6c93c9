// SPDX-License-Identifier: Apache-2.0
//
// What the agent does about limits.memory: above it the daemon forgets old events, takes no logs to
// diagnose and gives freed memory back to the kernel; a worker that holds more than its share is
// replaced. Probes, verdicts and alerts go on as before.
#include <malloc.h>
#include <spdlog/spdlog.h>
#include <unistd.h>

#include <algorithm>

#include "daemon/agent/agent.h"
#include "daemon/supervise/sanitizer.h"

namespace collwatch::agent {
namespace {

constexpr std::chrono::seconds kLook{10};
constexpr std::uint64_t kMiB = 1 << 20;
constexpr std::uint64_t kBuffersOfWorker = 4;  ///< as long as all ranks' largest payload

}  // namespace

void Agent::watch_memory() {
  memory_timer_ = loop_.after(kLook, [this] { watch_memory(); });
  if (supervise::kUnderSanitizer) return;  // what is resident is mostly the sanitizer's
  const std::uint64_t limit = config_.limits.memory;
  const std::uint64_t resident = resident_bytes(::getpid());
  if (memory_.look(resident, limit)) {
    is_short_of_memory_ = memory_.is_short();
    spdlog::warn("{} MiB are resident, limits.memory is {} MiB: {}", resident / kMiB, limit / kMiB,
                 memory_.is_short() ? "old events are forgotten, and no posted logs are taken"
                                    : "posted logs are taken again");
  }
  ledger_.keep_few_events(memory_.is_short());
  if (memory_.is_short()) ::malloc_trim(0);
  // A group's buffers are the configuration's wish, not the worker's waste.
  const auto& sizes = config_.gloo.sizes;
  const std::uint64_t largest = sizes.empty() ? 0 : *std::max_element(sizes.begin(), sizes.end());
  worker_->check_memory(limit + kBuffersOfWorker * largest * config_.membership.members.size());
  watch_->check_memory(limit);
}

}  // namespace collwatch::agent
