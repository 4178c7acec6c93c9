// SPDX-License-Identifier: Apache-2.0
//
// What a libnccl of some version would object to in the configuration that it is given: read by the
// offsets that are documented for each version, and not through our own struct, so that a mistake
// there shows.
#pragma once

#include <cstddef>
#include <cstring>
#include <string>

namespace standin {

inline int int_at(const char* config, std::size_t offset) {
  int value = 0;
  std::memcpy(&value, config + offset, sizeof value);
  return value;
}

inline std::size_t config_size_of(long version) {
  return version < 21700   ? 24
         : version < 21800 ? 40
         : version < 22700 ? 48
         : version < 22800 ? 72
         : version < 22900 ? 80
         : version < 23000 ? 88
                           : 96;
}

/// In NCCL's words where it has some; empty: nothing.
inline std::string wrong_in_config(const char* config, long version) {
  constexpr int kUndefined = -2147483647 - 1;
  std::size_t size = 0;
  std::memcpy(&size, config, sizeof size);
  if (static_cast<unsigned>(int_at(config, 8)) != 0xcafebeefU) {
    return "ncclConfig_t argument not initialized via NCCL_CONFIG_INITIALIZER";
  }
  const std::size_t known = config_size_of(version);
  if (size < known) return "a configuration that is shorter than this library's";
  if (int_at(config, 12) != version) return "a configuration of another version";
  const int blocking = int_at(config, 16);
  const bool fits = blocking == 0 || blocking == 1 || (version >= 21700 && blocking == kUndefined);
  if (!fits) return "Invalid config blocking attribute value";
  const int least = known >= 40 ? int_at(config, 24) : 1;
  const int most = known >= 40 ? int_at(config, 28) : 1;
  if ((least == kUndefined) != (most == kUndefined) || (least != kUndefined && least < 1)) {
    return "Invalid config min/max channels attribute value " + std::to_string(least) + "/" +
           std::to_string(most);
  }
  if (version >= 22600 && int_at(config, 44) != kUndefined) {
    return "Invalid config trafficClass attribute value";
  }
  if (known >= 72) {
    const char* name = nullptr;
    std::memcpy(&name, config + 48, sizeof name);
    if (name == nullptr || *name == '\0') return "Invalid config commName attribute value";
  }
  for (std::size_t offset = 72; offset < known; offset += 4) {
    if (int_at(config, offset) == kUndefined) continue;
    return "Invalid config attribute value at " + std::to_string(offset);
  }
  return "";
}

}  // namespace standin
