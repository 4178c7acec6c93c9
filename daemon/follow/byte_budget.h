// SPDX-License-Identifier: Apache-2.0
//
// How many bytes may be read now, at so many a second: a bucket that holds one second's worth.
// Pure: the time is passed in.
#pragma once

#include <cstddef>
#include <cstdint>

#include "daemon/base/event_loop.h"

namespace collwatch::follow {

class ByteBudget {
 public:
  explicit ByteBudget(std::uint64_t per_second) : per_second_(per_second), left_(per_second) {}

  std::size_t left(base::TimePoint now);
  void spend(std::size_t bytes);
  std::uint64_t per_second() const { return per_second_; }

 private:
  std::uint64_t per_second_;
  std::uint64_t left_;
  base::TimePoint filled_at_{};
};

}  // namespace collwatch::follow
