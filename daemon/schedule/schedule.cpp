// SPDX-License-Identifier: Apache-2.0
//
// See schedule.h. Two hashes are enough: FNV-1a over text for what operators compare, and a 64-bit
// finaliser over small integers for what must merely look random and be equal everywhere.
#include "daemon/schedule/schedule.h"

#include <algorithm>
#include <array>
#include <numeric>

#include "probes/model/result.h"

namespace collwatch::schedule {
namespace {

constexpr Millis kEagerFor{60000};
constexpr Round kLazyEvery = 5;

/// splitmix64's finaliser: every input bit reaches every output bit.
std::uint64_t mix(std::uint64_t x) {
  x += 0x9e3779b97f4a7c15ULL;
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9ULL;
  x = (x ^ (x >> 27)) * 0x94d049bb133111ebULL;
  return x ^ (x >> 31);
}

std::uint64_t pair_hash(Pair pair) {
  const std::uint64_t low = std::min(pair.a, pair.b);
  const std::uint64_t high = std::max(pair.a, pair.b);
  return mix(low << 32 | high);
}

/// Round numbers may be negative in tests and before the clock is set; a remainder must not be.
std::uint64_t remainder(Round round, std::uint64_t offset, std::uint64_t divisor) {
  const auto d = static_cast<Round>(divisor);
  const auto r = static_cast<std::uint64_t>(((round % d) + d) % d);
  return (r + offset % divisor) % divisor;
}

}  // namespace

std::vector<Member> group(Partition partition, Member member, Epoch /*epoch*/, Round /*round*/,
                          std::uint32_t members_count) {
  COLLWATCH_ASSERT(member < members_count);
  COLLWATCH_ASSERT(members_count <= kMaxMembers);
  if (partition != Partition::local) return {member};
  std::vector<Member> all(members_count);
  std::iota(all.begin(), all.end(), Member{0});
  return all;
}

std::string view_hash(std::vector<std::string> names) {
  std::sort(names.begin(), names.end());
  std::uint64_t hash = 0xcbf29ce484222325ULL;
  const auto add = [&hash](unsigned char byte) {
    hash ^= byte;
    hash *= 0x100000001b3ULL;
  };
  for (const std::string& name : names) {
    for (const char c : name) add(static_cast<unsigned char>(c));
    add(0);  // so that {"ab", "c"} and {"a", "bc"} differ
  }
  constexpr std::array<char, 17> kDigits = {"0123456789abcdef"};
  std::string text(16, '0');
  for (std::size_t i = 0; i < text.size(); ++i) text[i] = kDigits[(hash >> (60 - 4 * i)) & 0xf];
  return text;
}

std::optional<std::uint32_t> large_payload(Pair pair, Round round,
                                           const std::vector<std::uint32_t>& payloads,
                                           std::optional<std::uint32_t> repeat) {
  if (payloads.size() < 2) return std::nullopt;
  std::vector<std::uint32_t> large = payloads;
  std::sort(large.begin(), large.end());
  large.erase(large.begin());
  if (repeat && std::find(large.begin(), large.end(), *repeat) != large.end()) return repeat;
  // A random offset per pair could still collide on all edges of a node (1 node in 9 at 3 peers and
  // 3 sizes). The sum of the two indices is the same at both ends and runs through all residues
  // along a node's peers, so it cannot.
  const std::uint64_t offset = std::uint64_t{pair.a} + pair.b;
  return large[remainder(round, offset, large.size())];
}

bool should_reconnect(Millis failed_for, Round round, Pair pair) {
  if (failed_for < kEagerFor) return true;
  return remainder(round, pair_hash(pair), kLazyEvery) == 0;
}

Millis jitter(Pair pair, Round round, Millis limit) {
  if (limit.count() <= 0) return Millis{0};
  const std::uint64_t hash = mix(pair_hash(pair) ^ static_cast<std::uint64_t>(round));
  return Millis{static_cast<Millis::rep>(hash % static_cast<std::uint64_t>(limit.count()))};
}

}  // namespace collwatch::schedule
