// SPDX-License-Identifier: Apache-2.0
//
// Which paths lie on file systems that other machines write to as well (NFS, Lustre, GPFS, Ceph,
// FUSE, 9p, ...): there no change is ever announced, every look may hang, and what one reads many
// read. Told from the kernel's list of mounts, without touching the file systems. Pure.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace collwatch::follow {

class Mounts {
 public:
  Mounts() = default;
  /// The text of /proc/self/mountinfo.
  explicit Mounts(std::string_view mountinfo);
  /// This process's.
  static Mounts now();

  /// The type of the file system that an absolute path lies on; empty when unknown.
  std::string type_of(std::string_view path) const;
  bool is_shared(std::string_view path) const;

 private:
  std::vector<std::pair<std::string, std::string>> mounts_;  ///< where, what; the latest last
};

}  // namespace collwatch::follow
