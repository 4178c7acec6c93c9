// SPDX-License-Identifier: Apache-2.0
//
// See link_patience.h.
#include "daemon/state/link_patience.h"

#include <algorithm>

namespace collwatch::state {
namespace {

constexpr std::int64_t kPatience = 10;   ///< rounds: all sizes three times, and one more
constexpr std::int64_t kGap = 2;         ///< rounds without, before the waiting begins anew
constexpr std::int64_t kAftermath = 30;  ///< rounds: the window of lost datagrams and some

}  // namespace

bool LinkPatience::node_was_named(const Link& link, std::int64_t round) const {
  return std::any_of(nodes_.begin(), nodes_.end(), [&](const auto& node) {
    return (node.first == link.first || node.first == link.second) &&
           round - node.second <= kAftermath;
  });
}

std::vector<attribute::Impairment> LinkPatience::pass(
    std::int64_t round, const std::vector<attribute::Impairment>& found) {
  std::vector<attribute::Impairment> told;
  for (const attribute::Impairment& one : found) {
    if (one.cause.kind != model::Kind::node) continue;
    nodes_[one.cause.a] = round;
    told.push_back(one);
  }
  for (const attribute::Impairment& one : found) {
    if (one.cause.kind == model::Kind::node) continue;
    const Link link{one.cause.a, one.cause.b};
    const auto [it, is_new] = waits_.try_emplace(link, Wait{round, round});
    Wait& wait = it->second;
    if (round - wait.last > kGap) wait.since = round;
    wait.last = round;
    if (round - wait.since >= kPatience && !node_was_named(link, round)) told.push_back(one);
  }
  return told;
}

}  // namespace collwatch::state
