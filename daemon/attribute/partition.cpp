// SPDX-License-Identifier: Apache-2.0
//
// See partition.h.
#include "daemon/attribute/partition.h"

#include <algorithm>
#include <vector>

#include "daemon/attribute/cover.h"

namespace collwatch::attribute {
namespace {

using model::Kind;
using model::Reason;

/// One cut breaks all its edges in the same exchange; the next may begin while some still wait.
constexpr std::int64_t kOnsetSpread = 1;

/// By member: reached from self over edges that work.
std::vector<bool> side_of_self(const Observations& seen) {
  std::vector<bool> near(seen.members, false);
  near[seen.self] = true;
  for (bool grew = true; grew;) {
    grew = false;
    for (const PairView& pair : seen.pairs) {
      const bool works = pair.failing.empty() && !pair.ok.empty();
      if (!works || near[pair.a] == near[pair.b]) continue;
      near[pair.a] = near[pair.b] = true;
      grew = true;
    }
  }
  return near;
}

/// Could a cut have made this pair look so? Nothing answered, nothing was heard across it.
bool looks_cut(const PairView& pair) {
  if (pair.failing.empty()) return false;
  const bool answered =
      std::any_of(pair.failing.begin(), pair.failing.end(), [](const FailingWord& word) {
        return proves_node(word) || accuses_itself(word) ||
               (word.reason && *word.reason != Reason::unreachable);
      });
  const bool heard = std::any_of(pair.hearings.begin(), pair.hearings.end(),
                                 [](const Hearing& hearing) { return hearing.heard; });
  return !answered && !heard;
}

}  // namespace

std::optional<Cause> partition_seen_by(const Observations& seen) {
  if (seen.self >= seen.members || seen.expected < 4) return std::nullopt;
  const std::vector<bool> near = side_of_self(seen);
  std::vector<Member> here;
  std::vector<Member> beyond;
  for (Member m = 0; m < seen.members; ++m) {
    if (seen.takes_part[m]) (near[m] ? here : beyond).push_back(m);
  }
  if (here.size() < 2 || beyond.size() < 2) return std::nullopt;
  std::size_t across = 0;
  std::int64_t first = INT64_MAX;
  std::int64_t last = INT64_MIN;
  for (const PairView& pair : seen.pairs) {
    if (near[pair.a] == near[pair.b]) continue;
    if (!looks_cut(pair)) return std::nullopt;
    ++across;
    for (const FailingWord& word : pair.failing) {
      first = std::min(first, word.first);
      last = std::max(last, word.first);
    }
  }
  if (across != here.size() * beyond.size() || last - first > kOnsetSpread) return std::nullopt;
  const bool minority_here =
      here.size() < beyond.size() || (here.size() == beyond.size() && beyond[0] < here[0]);
  Cause cut;
  cut.kind = Kind::partition;
  cut.group = minority_here ? here : beyond;
  cut.a = cut.group.front();
  cut.b = minority_here ? beyond.front() : here.front();
  return cut;
}

std::uint32_t far_side(const Observations& seen, const Cause& partition) {
  const bool in_minority = in_group(partition, seen.self);
  const auto minority = static_cast<std::uint32_t>(partition.group.size());
  return in_minority ? seen.expected - minority : minority;
}

bool partition_settled(const Observations& seen, const Cause& partition) {
  const bool listed = in_group(partition, seen.self);
  std::int64_t latest = INT64_MIN;
  bool all_complain = true;
  for (const PairView& pair : seen.pairs) {
    if (!covers(partition, pair.a, pair.b)) continue;
    const Member near = in_group(partition, pair.a) == listed ? pair.a : pair.b;
    bool complains = false;
    for (const FailingWord& word : pair.failing) {
      latest = std::max(latest, word.first);
      complains = complains || word.observer == near;
    }
    all_complain = all_complain && complains;
  }
  return all_complain || seen.round > latest;
}

}  // namespace collwatch::attribute
