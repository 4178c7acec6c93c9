// SPDX-License-Identifier: Apache-2.0
//
// One record of /dev/kmsg: "6,1234,1843308145,-;message" and, on lines of their own, " KEY=value".
// The first number holds level and facility, the second counts records, the third is microseconds
// since the start of the machine. Pure.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace collwatch::watch {

struct KernelRecord {
  int level = 0;     ///< 0 emergency to 7 debug
  int facility = 0;  ///< 0: the kernel itself; anything else was written by some program
  std::int64_t sequence = 0;
  std::int64_t microseconds = 0;
  std::string message;  ///< \xNN undone
};

std::optional<KernelRecord> parse_kernel_record(std::string_view record);

/// As dmesg prints it, which is what the catalogue's patterns and prefixes know.
std::string as_dmesg(const KernelRecord& record);

}  // namespace collwatch::watch
