// SPDX-License-Identifier: Apache-2.0
//
// /proc/PID/statm: sizes in pages, the second one is what is resident.
#include "daemon/agent/memory.h"

#include <unistd.h>

#include <fstream>
#include <string>

namespace collwatch::agent {

std::uint64_t resident_bytes(pid_t pid) {
  std::ifstream file("/proc/" + std::to_string(pid) + "/statm");
  std::uint64_t all = 0;
  std::uint64_t resident = 0;
  if (!(file >> all >> resident)) return 0;
  return resident * static_cast<std::uint64_t>(::sysconf(_SC_PAGESIZE));
}

bool MemoryGuard::look(std::uint64_t resident, std::uint64_t limit) {
  const bool before = is_short_;
  is_short_ = resident > (before ? limit / 10 * 9 : limit);
  return is_short_ != before;
}

}  // namespace collwatch::agent
