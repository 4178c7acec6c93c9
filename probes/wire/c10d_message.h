// SPDX-License-Identifier: Apache-2.0
//
// What collwatch-probe-c10d tells: one document on its standard output for people and scripts
// (docs/schema/c10d.json), or the same in packets on fd 3 for collwatchd, which asks nothing of it.
// Same carrier and grammar as message.h. Plain structs and the codec; pure, never throws.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "probes/model/result.h"
#include "probes/model/vocabulary.h"

namespace collwatch::wire {

inline constexpr int kC10dVersion = 1;

/// How one try ended. accepted: the call returned, but a tensor without values cannot be verified.
/// unavailable: there is no such device or dtype here, nothing was called.
enum class C10dEnd { ok, wrong_values, refused, crash, hang, accepted, unavailable };

/// First packet.
struct C10dVersions {
  int v = kC10dVersion;
  std::string torch;  ///< as its header calls itself: 1.13.0
};

/// One try of one operation. What it does not have is empty.
struct C10dCell {
  std::string op, dtype, reduce_op, device;
  C10dEnd end = C10dEnd::ok;
  std::string text;  ///< the library's own words, or what the values were; empty: ok
};

/// A ProcessGroupGloo made from nothing through a store of that kind, and one all_reduce in it.
struct C10dStore {
  std::string store;  ///< tcp, file
  C10dEnd end = C10dEnd::ok;
  std::int64_t duration_us = 0;
  std::string text;
};

/// Last packet: all was tried.
struct C10dDone {
  std::int64_t wall_ms = 0;
  std::int64_t cpu_ms = 0;  ///< children included
  std::int64_t rss_kb = 0;  ///< the largest of all its processes
};

using FromC10d = std::variant<C10dVersions, C10dCell, C10dStore, C10dDone>;

std::string encode(const FromC10d& message);
model::Result<FromC10d> decode_from_c10d(std::string_view packet);

/// All of it, as one document.
struct C10dReport {
  C10dVersions versions;
  std::vector<C10dCell> cells;
  std::vector<C10dStore> stores;
  C10dDone done;
};

std::string encode_document(const C10dReport& report);

}  // namespace collwatch::wire

namespace collwatch::model {
template <>
struct Names<wire::C10dEnd> {
  static constexpr auto value = std::to_array<std::string_view>(
      {"ok", "wrong_values", "refused", "crash", "hang", "accepted", "unavailable"});
};
}  // namespace collwatch::model
