// SPDX-License-Identifier: Apache-2.0
//
// Edit distance with transpositions (optimal string alignment), on three rows.
#include "daemon/config/suggest.h"

#include <algorithm>
#include <cstddef>

namespace collwatch::config {
namespace {

std::size_t distance(const std::string& a, const std::string& b) {
  std::vector<std::size_t> before_last(b.size() + 1);
  std::vector<std::size_t> last(b.size() + 1);
  std::vector<std::size_t> row(b.size() + 1);
  for (std::size_t j = 0; j <= b.size(); ++j) last[j] = j;
  for (std::size_t i = 1; i <= a.size(); ++i) {
    row[0] = i;
    for (std::size_t j = 1; j <= b.size(); ++j) {
      const std::size_t change = last[j - 1] + (a[i - 1] == b[j - 1] ? 0 : 1);
      row[j] = std::min({last[j] + 1, row[j - 1] + 1, change});
      if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1]) {
        row[j] = std::min(row[j], before_last[j - 2] + 1);
      }
    }
    before_last.swap(last);
    last.swap(row);
  }
  return last[b.size()];
}

bool ends_with_key(const std::string& candidate, const std::string& given) {
  return candidate.size() > given.size() && candidate.ends_with(given) &&
         candidate[candidate.size() - given.size() - 1] == '.';
}

}  // namespace

std::optional<std::string> nearest(const std::string& given,
                                   const std::vector<std::string>& candidates) {
  constexpr std::size_t kLongest = 100;  // the cost is quadratic and the text may be hostile
  if (given.empty() || given.size() > kLongest) return std::nullopt;
  const std::string* best = nullptr;
  std::size_t best_distance = std::max<std::size_t>(2, given.size() / 3) + 1;
  for (const std::string& candidate : candidates) {
    if (ends_with_key(candidate, given)) return candidate;
    const std::size_t d = distance(given, candidate);
    // Something as far away as it is long shares nothing with it.
    if (d < best_distance && d < candidate.size()) {
      best = &candidate;
      best_distance = d;
    }
  }
  if (best == nullptr) return std::nullopt;
  return *best;
}

std::string did_you_mean(const std::string& given, const std::vector<std::string>& candidates) {
  const auto found = nearest(given, candidates);
  return found ? "; did you mean " + *found + "?" : "";
}

}  // namespace collwatch::config
