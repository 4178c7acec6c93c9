// SPDX-License-Identifier: Apache-2.0
//
// Failures come in swarms: a rank that dies makes each of its neighbours say so, several times. One
// finding of a kind, rank and file is told, those of the next seconds are counted. Pure.
#pragma once

#include <cstdint>
#include <map>
#include <string>

#include "daemon/base/event_loop.h"

namespace collwatch::watch {

class Repeats {
 public:
  static constexpr base::Millis kWindow{10000};

  /// Whether a finding of this key was let through less than kWindow ago; if not, this one is now.
  bool is_repeat(const std::string& key, base::TimePoint now);
  std::uint64_t count() const { return count_; }

 private:
  std::map<std::string, base::TimePoint> told_;
  std::uint64_t count_ = 0;
};

}  // namespace collwatch::watch
