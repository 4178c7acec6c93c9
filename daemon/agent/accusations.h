// SPDX-License-Identifier: Apache-2.0
//
// Who got wrong values from whom in the group's collectives, kept for a while, and whom that names:
// a member is believed to damage what it sends when two others got wrong values from it. One other
// alone may be lying, or have a bad path. Pure; time is passed in.
#pragma once

#include <chrono>
#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

namespace collwatch::agent {

class Accusations {
 public:
  using TimePoint = std::chrono::steady_clock::time_point;
  struct Named {
    std::string member;
    bool again = false;  ///< accused by two in more than one run
  };

  explicit Accusations(std::chrono::milliseconds kept) : kept_(kept) {}

  /// One run: by rank, the bits of the ranks whose blocks that member got wrong; `members` by rank.
  /// What does not fit the members is left out.
  void add(TimePoint now, const std::vector<std::string>& members,
           const std::vector<std::uint32_t>& wrong_from);
  /// Sorted by name.
  std::vector<Named> named(TimePoint now) const;

 private:
  struct Runs {
    TimePoint last;
    int count = 0;  ///< within what is kept
  };

  std::chrono::milliseconds kept_;
  std::map<std::pair<std::string, std::string>, Runs> by_;  ///< accused, accuser
};

}  // namespace collwatch::agent
