// SPDX-License-Identifier: Apache-2.0
//
// Any bytes as the dumps of up to four ranks, separated by 0x1e. Properties: no crash, no hang,
// little memory; an error has a text; what is read holds together (groups, numbers of entries),
// whoever is accused is a member, and only who has a dump is seen to wait. Seeds lie in corpus/; a
// crash found belongs there, too.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "daemon/flight/analyse.h"
#include "daemon/flight/dump.h"
#include "probes/model/result.h"

using namespace collwatch;

namespace {

constexpr char kNextFile = '\x1e';
constexpr std::size_t kMostFiles = 4;

void check_dump(const flight::Dump& dump) {
  for (const flight::Entry& entry : dump.entries) {
    COLLWATCH_ASSERT(entry.group < dump.groups.size());
    COLLWATCH_ASSERT(entry.input_total >= 0 && entry.output_total >= 0);
  }
}

void check_analysis(const flight::Analysis& analysis, const std::vector<flight::RankDump>& dumps) {
  std::vector<const flight::Trouble*> troubles = {&analysis.main};
  for (const flight::Trouble& other : analysis.others) troubles.push_back(&other);
  for (const flight::Trouble* trouble : troubles) {
    for (const int rank : trouble->waiting) COLLWATCH_ASSERT(analysis.ranks.count(rank) == 1);
    for (const int rank : trouble->absent) COLLWATCH_ASSERT(analysis.ranks.count(rank) == 0);
    for (const flight::Sight& sight : trouble->sights) {
      const auto dump = std::find_if(dumps.begin(), dumps.end(), [&](const flight::RankDump& one) {
        return one.rank == sight.rank;
      });
      COLLWATCH_ASSERT(dump != dumps.end());
      COLLWATCH_ASSERT(sight.number <= static_cast<long>(dump->dump.entries.size()));
      COLLWATCH_ASSERT(!sight.text.empty());
    }
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  std::string_view rest(reinterpret_cast<const char*>(data), size);
  flight::Words words;
  std::vector<flight::RankDump> dumps;
  while (dumps.size() < kMostFiles) {
    const std::size_t end = rest.find(kNextFile);
    const std::string bytes(rest.substr(0, end));
    (void)flight::looks_like_dump(std::string_view(bytes).substr(0, 4096), "x");
    auto dump = flight::read_dump(bytes, words);
    if (dump) {
      check_dump(*dump);
      dumps.push_back({static_cast<int>(dumps.size()), "nccl_trace_rank_0", std::move(*dump)});
    } else {
      COLLWATCH_ASSERT(!dump.error().text.empty());
    }
    if (end == std::string_view::npos) break;
    rest.remove_prefix(end + 1);
  }
  check_analysis(flight::analyse(dumps, std::nullopt, words), dumps);
  return 0;
}
