// SPDX-License-Identifier: Apache-2.0
//
// Looks in, the odd ones out.
#include "daemon/agent/folder_sharing.h"

#include <algorithm>
#include <iterator>
#include <utility>

namespace collwatch::agent {
namespace {

/// A file server that is slow once is not a folder that is not shared.
constexpr int kFailedLooks = 2;
constexpr std::size_t kMostNamed = 8;

std::string list(const std::vector<std::string>& names) {
  std::string out;
  for (std::size_t i = 0; i < names.size() && i < kMostNamed; ++i) {
    out += (i == 0 ? "" : ", ") + names[i];
  }
  if (names.size() > kMostNamed) out += ", ...";
  return out;
}

}  // namespace

void FolderSharing::add(const wire::StoreFolder& folder,
                        const std::vector<wire::StoreMember>& files,
                        const std::set<std::string>& alive, bool is_early) {
  if (!folder.error.empty()) return fail(folder.error);
  failed_ = 0;
  for (auto it = seen_.begin(); it != seen_.end();) {
    it = alive.contains(it->first) ? std::next(it) : seen_.erase(it);
  }
  for (const std::string& name : alive) {
    Seen& seen = seen_[name];
    seen.looks = std::min(seen.looks + 1, kLooks);
    seen.has_file = false;
    if (is_early) continue;
    seen.full_looks = std::min(seen.full_looks + 1, kLooks + 1);
    seen.still_looks = std::min(seen.still_looks + 1, kLooks);
  }
  for (const wire::StoreMember& file : files) {
    const auto seen = seen_.find(file.name);
    if (seen == seen_.end()) continue;
    seen->second.has_file = true;
    // The first number seen may be of a run long ago.
    if (seen->second.sequence >= 0 && file.sequence != seen->second.sequence) {
      seen->second.still_looks = 0;
    }
    seen->second.sequence = file.sequence;
  }
  judge(folder);
}

void FolderSharing::add_hung() {
  fail("it does not answer");
}

void FolderSharing::fail(const std::string& why) {
  seen_.clear();  // what others do there cannot be seen now
  if (++failed_ < kFailedLooks) return;
  odd_ = {self_};
  text_ = "the shared folder cannot be used on " + self_ + ": " + why;
}

void FolderSharing::judge(const wire::StoreFolder& folder) {
  std::vector<std::string> with_us{self_};
  std::vector<std::string> without;
  for (const auto& [name, seen] : seen_) {
    const bool stands_still = seen.full_looks > kLooks && seen.still_looks >= kLooks;
    if (seen.has_file && !stands_still) {
      with_us.push_back(name);
    } else if (seen.looks >= kLooks) {
      without.push_back(name);
    }
  }
  odd_.clear();
  text_.clear();
  if (without.empty()) return;
  std::sort(with_us.begin(), with_us.end());
  const bool we_are_more = with_us.size() > without.size() ||
                           (with_us.size() == without.size() && with_us.front() < without.front());
  odd_ = we_are_more ? without : with_us;
  text_ = "on " + self_ + " the folder is on " + folder.filesystem + " and has no fresh file of " +
          list(without) + ", though " + (without.size() == 1 ? "it answers" : "they answer") +
          " on the network: not the same folder there, or no collwatchd with this path";
}

}  // namespace collwatch::agent
