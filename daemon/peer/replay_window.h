// SPDX-License-Identifier: Apache-2.0
//
// "A sequence number once": the highest number seen and a 64-bit window behind it. One per admitted
// (name, incarnation); used by the witness. Pure.
#pragma once

#include <cstdint>

namespace collwatch::peer {

class ReplayWindow {
 public:
  static constexpr std::uint64_t kSize = 64;

  /// True, once, for every number above zero that is not older than the window.
  bool take(std::uint64_t sequence);
  std::uint64_t highest() const { return highest_; }

 private:
  std::uint64_t highest_ = 0;
  std::uint64_t seen_ = 0;  ///< bit i: highest_ - i was taken
};

}  // namespace collwatch::peer
