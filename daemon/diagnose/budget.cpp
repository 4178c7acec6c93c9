// SPDX-License-Identifier: Apache-2.0
//
// Sums, and who has to stop.
#include "daemon/diagnose/budget.h"

#include <algorithm>
#include <ctime>

namespace collwatch::diagnose {

Budget::Budget(const Patterns& patterns, Allowance allowance)
    : patterns_(patterns),
      allowance_(allowance),
      spent_ns_(static_cast<std::size_t>(patterns.count())),
      is_off_(static_cast<std::size_t>(patterns.count())),
      unfiltered_on_(patterns.matcher().unfiltered().size()) {}

void Budget::charge(int expression, std::chrono::nanoseconds taken, Place place) {
  const auto at = static_cast<std::size_t>(expression);
  if (is_off_[at]) return;
  const double cost = static_cast<double>(taken.count()) * kOneIn;
  spent_ns_[at] += cost;
  total_ns_ += cost;
  const double most =
      static_cast<double>(allowance_.at_once.count()) + allowance_.per_byte_ns * bytes_;
  if (total_ns_ <= most) return;
  // The dearest and all that are nearly as dear: a thousand of a kind must not go one by one.
  const double dear = *std::max_element(spent_ns_.begin(), spent_ns_.end()) / 2;
  const std::vector<int>& unfiltered = patterns_.matcher().unfiltered();
  for (std::size_t i = 0; i < spent_ns_.size(); ++i) {
    if (spent_ns_[i] == 0 || spent_ns_[i] < dear) continue;
    const int one = static_cast<int>(i);
    is_off_[i] = true;
    stopped_.push_back({one, place});
    total_ns_ -= spent_ns_[i];
    spent_ns_[i] = 0;
    if (std::find(unfiltered.begin(), unfiltered.end(), one) != unfiltered.end()) --unfiltered_on_;
  }
}

std::chrono::nanoseconds Budget::processor_time() {
  timespec now{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return std::chrono::seconds(now.tv_sec) + std::chrono::nanoseconds(now.tv_nsec);
}

}  // namespace collwatch::diagnose
