// SPDX-License-Identifier: Apache-2.0
//
// What the dumps of a job say together: who called something else than the others, who never called
// what they wait for, where everybody is and nothing differs. Numbers of collectives are compared,
// never clocks. Pure; used by `collwatch diagnose`.
#pragma once

#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "daemon/flight/dump.h"
#include "daemon/flight/group_view.h"
#include "daemon/flight/words.h"

namespace collwatch::flight {

enum class Finding {
  mismatch,  ///< ranks called different things under one number
  crossed,   ///< ranks wait for each other in different groups
  lagging,   ///< ranks never called what the others wait in
  state,     ///< all called it, some did not start or finish it
  missing,   ///< all dumps agree and wait; members without a dump are left
  frozen,    ///< all members wait in the same collective, nothing differs
  nothing,   ///< nobody waits
};

/// One rank's part, for people and for fields: where it is and what it does there.
struct Sight {
  int rank = 0;
  std::string file;
  long number = 0;  ///< entry in the dump, from 1; 0: none shows it
  bool waits = false;
  std::string text;
  std::string code;  ///< where that entry was called
  std::int64_t enqueued = -1, completed = -1;
};

struct Trouble {
  Finding finding = Finding::nothing;
  std::string group;  ///< "group 0 (default_pg)"
  std::string group_name;
  std::string backend;  ///< "nccl", "gloo", ...
  std::string op;       ///< "all_reduce"
  std::string what;     ///< of a mismatch: "operation", "size", "type"
  std::int64_t seq = -1;
  std::set<int> odd;              ///< who is the cause, as far as the dumps tell
  std::optional<int> group_rank;  ///< of a single one
  std::set<int> waiting;
  std::set<int> behind;  ///< never called it
  std::set<int> absent;  ///< members without a dump
  std::vector<Sight> sights;
  std::vector<std::string> opinions;  ///< of a mismatch: "ranks 0 and 2: all_reduce of [[4]] Float"
};

struct Analysis {
  std::set<int> ranks;                ///< whose dumps were read
  std::set<int> absent;               ///< members of groups whose dumps are not here
  std::vector<std::string> to_fetch;  ///< names of files that should lie beside those given
  Trouble main;
  std::vector<Trouble> others;  ///< in other groups, mostly consequences
};

/// `dumps`: one of each rank. `world`: how many ranks there are, where somebody else knows it.
Analysis analyse(const std::vector<RankDump>& dumps, std::optional<int> world, Words& words);

// Parts of it.

/// What is wrong in one group; nothing where nobody waits and nothing differs.
std::optional<Trouble> trouble_of(const GroupView& view, const Words& words);

/// Of several groups' troubles the one from which the others follow, first.
void put_cause_first(std::vector<Trouble>& troubles);

/// "rank 3", "ranks 0, 2 and 5", "ranks 0 to 7".
std::string ranks_in_words(const std::set<int>& ranks);

}  // namespace collwatch::flight
