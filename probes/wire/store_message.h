// SPDX-License-Identifier: Apache-2.0
//
// What collwatch-probe-store tells of a folder that the members of a ring are to share, in packets
// on fd 3 for collwatchd, which asks nothing of it. A member's own message is also what lies in its
// file in that folder. Same carrier and grammar as message.h. Plain structs and the codec; pure,
// never throws.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <variant>

#include "probes/model/result.h"

namespace collwatch::wire {

inline constexpr int kStoreVersion = 1;

/// First packet.
struct StoreFolder {
  int v = kStoreVersion;
  std::string
      filesystem;     ///< nfs, ext4, tmpfs, ...; 0x... where the kernel's number has no name here
  std::string error;  ///< why our own file could not be written; empty: it was
};

/// A member's file. Whoever writes it adds one to the number each time, so that what is left of a
/// run long ago is told from what is written now, without anybody's clock.
struct StoreMember {
  int v = kStoreVersion;
  std::string name;
  std::int64_t sequence = 0;
};

/// Last packet: all files were read.
struct StoreDone {
  std::int64_t duration_us = 0;
};

using FromStore = std::variant<StoreFolder, StoreMember, StoreDone>;

std::string encode(const FromStore& message);
model::Result<FromStore> decode_from_store(std::string_view packet);

}  // namespace collwatch::wire
