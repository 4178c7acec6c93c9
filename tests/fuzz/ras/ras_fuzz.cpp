// SPDX-License-Identifier: Apache-2.0
//
// Any bytes are a report or none: the same in one piece as byte by byte, and nothing that is made
// of it leads the judge astray. Seeds lie in corpus/; a crash found belongs there, too.
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "daemon/ras/judge.h"
#include "daemon/ras/reader.h"

namespace ras = collwatch::ras;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view bytes(reinterpret_cast<const char*>(data), size);
  ras::Reader whole;
  whole.add(bytes);
  const ras::Report report = whole.finish();
  ras::Reader pieces;
  for (const char& byte : bytes) pieces.add({&byte, 1});
  const ras::Report again = pieces.finish();
  COLLWATCH_ASSERT(report.complete == again.complete);
  COLLWATCH_ASSERT(report.communicators.size() == again.communicators.size());
  COLLWATCH_ASSERT(report.lost.size() == again.lost.size());
  COLLWATCH_ASSERT(report.dropped == again.dropped);
  for (const ras::Communicator& one : report.communicators) COLLWATCH_ASSERT(one.size > 0);
  (void)report.is_incomplete();
  ras::Judge judge;
  collwatch::base::TimePoint now{};
  for (int i = 0; i < 4; ++i) {
    now += std::chrono::seconds(30);
    const auto found = judge.add(report, i % 2 == 0 ? 8 : 0, i == 3, now);
    COLLWATCH_ASSERT(report.complete || found.empty());
    COLLWATCH_ASSERT(found.size() <= ras::Judge::kMostFindings);
  }
  return 0;
}
