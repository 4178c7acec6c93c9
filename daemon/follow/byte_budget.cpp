// SPDX-License-Identifier: Apache-2.0
//
// Filled by the millisecond, never above one second's worth.
#include "daemon/follow/byte_budget.h"

#include <algorithm>

namespace collwatch::follow {

std::size_t ByteBudget::left(base::TimePoint now) {
  if (filled_at_ == base::TimePoint{}) filled_at_ = now;
  const auto passed = std::chrono::duration_cast<base::Millis>(now - filled_at_);
  if (passed.count() > 0) {
    const auto millis = static_cast<std::uint64_t>(std::min<std::int64_t>(passed.count(), 1000));
    const std::uint64_t more = per_second_ / 1000 * millis + per_second_ % 1000 * millis / 1000;
    if (more == 0) return static_cast<std::size_t>(left_);  // too early to tell
    left_ = std::min(per_second_, left_ + more);
    filled_at_ = now;
  }
  return static_cast<std::size_t>(left_);
}

void ByteBudget::spend(std::size_t bytes) {
  left_ -= std::min<std::uint64_t>(left_, bytes);
}

}  // namespace collwatch::follow
