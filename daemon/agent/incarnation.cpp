// SPDX-License-Identifier: Apache-2.0
//
// Boot id from the kernel where /proc has it; the random part alone already makes it unique.
#include "daemon/agent/incarnation.h"

#include <cstdint>
#include <cstdio>
#include <ctime>
#include <fstream>
#include <random>

namespace collwatch::agent {

std::string make_incarnation() {
  std::string boot;
  std::ifstream("/proc/sys/kernel/random/boot_id") >> boot;
  boot = boot.substr(0, 8);
  timespec now{};
  clock_gettime(CLOCK_BOOTTIME, &now);
  const std::uint64_t started = static_cast<std::uint64_t>(now.tv_sec) * 1000 +
                                static_cast<std::uint64_t>(now.tv_nsec) / 1000000;
  std::random_device random;
  char text[64];
  std::snprintf(text, sizeof text, "%s-%llx-%08x%08x", boot.empty() ? "0" : boot.c_str(),
                static_cast<unsigned long long>(started), random(), random());
  return text;
}

}  // namespace collwatch::agent
