// SPDX-License-Identifier: Apache-2.0
//
// Whether all members have the same folder behind a path: each has a file there with a number that
// grows with every look of its own. Who answers on the network and has no file, or one whose number
// stands still, does not share the folder. Counts looks, never time: clocks differ, and what an
// earlier run left does not move. Pure; lives on the event loop's thread.
#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "probes/wire/store_message.h"

namespace collwatch::agent {

class FolderSharing {
 public:
  /// Looks before anything is said of a member: that answers and has no file; and, of looks at the
  /// full interval, that answers and has a file that stands still. Between two of our looks another
  /// may not have looked, between three it has.
  static constexpr int kLooks = 3;

  explicit FolderSharing(std::string self) : self_(std::move(self)) {}

  /// One look that ended: what the folder is, the files that were read, who answers on the network,
  /// and whether it followed the last one sooner than others look.
  void add(const wire::StoreFolder& folder, const std::vector<wire::StoreMember>& files,
           const std::set<std::string>& alive, bool is_early);
  /// One look that did not end in its time.
  void add_hung();

  /// Who does not share the folder: the smaller side, of equal ones that without the lowest name.
  /// Empty: everybody does, or it is not known yet.
  const std::vector<std::string>& odd() const { return odd_; }
  /// One sentence; empty where odd() is.
  const std::string& text() const { return text_; }

 private:
  struct Seen {
    std::int64_t sequence = -1;
    bool has_file = false;
    int looks = 0;        ///< on end in which it answered
    int full_looks = 0;   ///< of them, at the full interval
    int still_looks = 0;  ///< of them, since its number last moved
  };

  void judge(const wire::StoreFolder& folder);
  void fail(const std::string& why);

  std::string self_;
  std::map<std::string, Seen> seen_;
  int failed_ = 0;  ///< looks on end
  std::vector<std::string> odd_;
  std::string text_;
};

}  // namespace collwatch::agent
