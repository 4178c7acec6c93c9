// SPDX-License-Identifier: Apache-2.0
//
// limits.memory: how much a process of the agent holds, and whether that is too much. The kernel's
// own limits would end the daemon where it stands; this one sheds what it can do without, and says
// so. Used by agent_memory.cpp.
#pragma once

#include <sys/types.h>

#include <cstdint>

namespace collwatch::agent {

/// Bytes of memory that a process has resident; 0 where that cannot be told.
std::uint64_t resident_bytes(pid_t pid);

/// Short from the limit on until a tenth below it, so that it does not flap.
class MemoryGuard {
 public:
  /// True when this look changed the answer.
  bool look(std::uint64_t resident, std::uint64_t limit);
  bool is_short() const { return is_short_; }

 private:
  bool is_short_ = false;
};

}  // namespace collwatch::agent
