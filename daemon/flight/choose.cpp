// SPDX-License-Identifier: Apache-2.0
//
// Which of several groups' troubles is the cause. A rank that is missed in one group may itself
// wait in another: the one that waits nowhere is where it began.
#include <algorithm>
#include <iterator>

#include "daemon/flight/analyse.h"

namespace collwatch::flight {
namespace {

int weight(const Trouble& trouble) {
  return static_cast<int>(trouble.finding);
}

/// Ranks that somebody misses and that wait for nobody themselves.
std::set<int> roots_of(const std::vector<Trouble>& troubles) {
  std::set<int> roots;
  for (const Trouble& trouble : troubles) {
    if (trouble.finding == Finding::lagging)
      roots.insert(trouble.behind.begin(), trouble.behind.end());
  }
  for (const Trouble& trouble : troubles) {
    for (const int rank : trouble.waiting) roots.erase(rank);
  }
  return roots;
}

std::set<int> common(const std::set<int>& a, const std::set<int>& b) {
  std::set<int> both;
  std::set_intersection(a.begin(), a.end(), b.begin(), b.end(), std::inserter(both, both.end()));
  return both;
}

}  // namespace

void put_cause_first(std::vector<Trouble>& troubles) {
  std::stable_sort(troubles.begin(), troubles.end(), [](const Trouble& a, const Trouble& b) {
    if (weight(a) != weight(b)) return weight(a) < weight(b);
    // Where all are equal: the group of which most is known to wait.
    return a.waiting.size() > b.waiting.size();
  });
  if (troubles.size() < 2 || troubles.front().finding != Finding::lagging) return;
  const std::set<int> roots = roots_of(troubles);
  const auto with_root =
      std::find_if(troubles.begin(), troubles.end(), [&](const Trouble& trouble) {
        return trouble.finding == Finding::lagging && !common(trouble.odd, roots).empty();
      });
  if (with_root != troubles.end()) {
    with_root->odd = common(with_root->odd, roots);
    std::rotate(troubles.begin(), with_root, with_root + 1);
    return;
  }
  // Everybody that is missed waits elsewhere. Where that elsewhere misses nobody with a dump, it is
  // the cause; else they wait for each other in a circle.
  const std::set<int> missed = troubles.front().behind;
  const auto elsewhere =
      std::find_if(troubles.begin(), troubles.end(), [&](const Trouble& trouble) {
        return trouble.finding > Finding::lagging && !common(trouble.waiting, missed).empty();
      });
  if (elsewhere != troubles.end()) {
    std::rotate(troubles.begin(), elsewhere, elsewhere + 1);
    return;
  }
  troubles.front().finding = Finding::crossed;
  for (std::size_t i = 1; i < troubles.size(); ++i) {
    if (troubles[i].finding == Finding::lagging)
      troubles.front().odd.insert(troubles[i].behind.begin(), troubles[i].behind.end());
  }
}

}  // namespace collwatch::flight
