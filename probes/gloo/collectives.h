// SPDX-License-Identifier: Apache-2.0
//
// The five micro-collectives on a connected group context, each verified by value. Every element is
// a function of round, step, rank and index, in 32-bit arithmetic that wraps the same way whatever
// the order of the reduction, so a wrong sum, a swapped block or bytes of an earlier round show.
// Wrong values are told, not thrown: all members finish a run in step, and agree then on who was
// wrong. Blocks the group's thread; Gloo's deadline holds for each of its waits.
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <vector>

#include "probes/gloo/mesh.h"
#include "probes/wire/message.h"

namespace collwatch::gloo_probe {

inline constexpr std::uint32_t kMaxCollectiveBytes = 16 * 1024 * 1024;

/// Identifies one run of one step; all members must agree, or they wait for each other in vain.
/// That is intended: a member that expects another size must time out, not be sent more than it
/// posted.
struct StepKey {
  std::int64_t round = 0;
  std::uint32_t index = 0;
};

struct Verified {
  std::size_t wrong = 0;  ///< elements that are not what they must be
  /// Bit r: rank r's block was wrong. Of alltoall only, where each block comes straight from its
  /// sender; elsewhere others forward or add to it.
  std::uint32_t wrong_from = 0;
};

/// Bytes are rounded to whole 32-bit elements, at least one (alltoall: one for each member).
/// Throws what Gloo throws.
Verified run_collective(const std::shared_ptr<GlooContext>& context, const wire::CollectiveStep& step,
                    StepKey key, std::chrono::milliseconds timeout);

/// Every member's wrong_from, by rank, exchanged straight between each two, so that no member can
/// speak for another. What arrives damaged counts as 0. Throws what Gloo throws.
std::vector<std::uint32_t> exchange_accusations(const std::shared_ptr<GlooContext>& context,
                                                std::uint32_t wrong_from, StepKey key,
                                                std::chrono::milliseconds timeout);

/// A barrier that belongs to no round: proves that a new context really connects its members.
void warm_up_barrier(const std::shared_ptr<GlooContext>& context,
                     std::chrono::milliseconds timeout);

}  // namespace collwatch::gloo_probe
