// SPDX-License-Identifier: Apache-2.0
//
// A map, and the same files by age.
#include "daemon/follow/parked_files.h"

#include <algorithm>

namespace collwatch::follow {

std::vector<std::pair<FileIdentity, ParkedFile>> ParkedFiles::park(const FileIdentity& file,
                                                                   ParkedFile parked) {
  take(file);
  by_age_.insert({parked.changed_ns, file});
  files_.insert_or_assign(file, std::move(parked));
  std::vector<std::pair<FileIdentity, ParkedFile>> gone;
  while (files_.size() > kMostParked) {
    const auto [changed_ns, oldest] = *by_age_.begin();
    settle(changed_ns);
    gone.emplace_back(oldest, *take(oldest));
  }
  return gone;
}

ParkedFile* ParkedFiles::find(const FileIdentity& file) {
  const auto found = files_.find(file);
  return found == files_.end() ? nullptr : &found->second;
}

std::optional<ParkedFile> ParkedFiles::take(const FileIdentity& file) {
  const auto found = files_.find(file);
  if (found == files_.end()) return std::nullopt;
  by_age_.erase({found->second.changed_ns, file});
  std::optional<ParkedFile> taken(std::move(found->second));
  files_.erase(found);
  return taken;
}

bool ParkedFiles::is_too_old(std::int64_t changed_ns) const {
  return files_.size() >= kMostParked && changed_ns <= by_age_.begin()->first;
}

void ParkedFiles::settle(std::int64_t changed_ns) {
  settled_ns_ = std::max(settled_ns_, changed_ns);
}

}  // namespace collwatch::follow
