// SPDX-License-Identifier: Apache-2.0
//
// A table that is emptied of the old whenever it gets large.
#include "daemon/watch/repeats.h"

namespace collwatch::watch {
namespace {

constexpr std::size_t kMostKeys = 4096;

}  // namespace

bool Repeats::is_repeat(const std::string& key, base::TimePoint now) {
  const auto known = told_.find(key);
  if (known != told_.end() && now - known->second < kWindow) {
    ++count_;
    return true;
  }
  if (told_.size() >= kMostKeys) {
    std::erase_if(told_, [&](const auto& entry) { return now - entry.second >= kWindow; });
    if (told_.size() >= kMostKeys) told_.clear();
  }
  told_[key] = now;
  return false;
}

}  // namespace collwatch::watch
