// SPDX-License-Identifier: Apache-2.0
//
// Who meets whom, and when: pure functions of the configured member list and the round, so that all
// agents compute the same answer without a coordinator. Up to kMaxMembers the group is everybody;
// the partitions for more members come in behind the same signature. Used by the agent's round, by
// the simulator and by tests; no state, no clock.
//
//   for each tick:   group(...)            -> the members this node probes
//   for each peer:   large_payload(...)    -> the big token of this round, beside the small one
//                    should_reconnect(...) -> may a broken edge be tried again now?
//                    jitter(...)           -> how long after the tick to start that attempt
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace collwatch::schedule {

using Member = std::uint32_t;  ///< index into the sorted list of configured members
using Epoch = std::uint64_t;   ///< counts changes of that list
using Round = std::int64_t;
using Millis = std::chrono::milliseconds;

/// One clique serves up to here; config refuses more.
inline constexpr std::uint32_t kMaxMembers = 8;

/// The three families of groups a node belongs to in each round (design 1.4).
enum class Partition : std::uint8_t { local, permuted, rotating };

/// Two different members in either order: Pair{3, 1} and Pair{1, 3} schedule alike.
struct Pair {
  Member a = 0;
  Member b = 0;
};

/// The members, `member` included and sorted, of its group in this partition, epoch and round;
/// never a function of who is alive. Up to kMaxMembers: everybody in `local`, nobody else in the
/// other two partitions (they would only repeat the clique).
std::vector<Member> group(Partition partition, Member member, Epoch epoch, Round round,
                          std::uint32_t members_count);

/// 16 hex digits that are equal wherever the same names are configured, in whatever order.
std::string view_hash(std::vector<std::string> names);

/// Which of the configured `payloads` follows the smallest one in this round: the others in
/// rotation, offset by the pair so that no node sends all its largest payloads in one round.
/// `repeat`: the size that failed last on this edge is tried again first. Nothing when there is no
/// second size.
std::optional<std::uint32_t> large_payload(Pair pair, Round round,
                                           const std::vector<std::uint32_t>& payloads,
                                           std::optional<std::uint32_t> repeat);

/// Whether a broken edge is tried again in this round: every round for the first minute, then every
/// 5th, with pairs spread over those five.
bool should_reconnect(Millis failed_for, Round round, Pair pair);

/// A stable pseudo-random delay in [0, limit) for this pair and round; zero for a zero limit.
Millis jitter(Pair pair, Round round, Millis limit);

}  // namespace collwatch::schedule
