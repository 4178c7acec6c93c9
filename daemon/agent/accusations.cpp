// SPDX-License-Identifier: Apache-2.0
//
// See accusations.h.
#include "daemon/agent/accusations.h"

#include <algorithm>

namespace collwatch::agent {

namespace {
constexpr std::size_t kBits = 32;
constexpr int kAccusers = 2;
}  // namespace

void Accusations::add(TimePoint now, const std::vector<std::string>& members,
                      const std::vector<std::uint32_t>& wrong_from) {
  std::erase_if(by_, [&](const auto& entry) { return now - entry.second.last > kept_; });
  const std::size_t ranks = std::min({members.size(), wrong_from.size(), kBits});
  for (std::size_t accuser = 0; accuser < ranks; ++accuser) {
    for (std::size_t accused = 0; accused < ranks; ++accused) {
      const bool says = ((wrong_from[accuser] >> accused) & 1U) != 0;
      if (!says || accused == accuser) continue;
      Runs& runs = by_[{members[accused], members[accuser]}];
      runs.last = now;
      ++runs.count;
    }
  }
}

std::vector<Accusations::Named> Accusations::named(TimePoint now) const {
  std::map<std::string, std::pair<int, int>> accusers;  // how many, and how many of them twice
  for (const auto& [pair, runs] : by_) {
    if (now - runs.last > kept_) continue;
    auto& [all, twice] = accusers[pair.first];
    ++all;
    twice += runs.count > 1 ? 1 : 0;
  }
  std::vector<Named> result;
  for (const auto& [member, counts] : accusers) {
    const auto [all, twice] = counts;
    if (all >= kAccusers) result.push_back({member, twice >= kAccusers});
  }
  return result;
}

}  // namespace collwatch::agent
