// SPDX-License-Identifier: Apache-2.0
//
// One rank's Flight Recorder dump as plain values: what it says about its process groups, and the
// last collectives that it called, in the order of calling. Versions 2.0 to 2.10 lack various keys;
// what is not there is empty. Made by read_dump(), used by analyse().
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "daemon/flight/words.h"
#include "probes/model/result.h"

namespace collwatch::flight {

enum class State : std::uint8_t { unknown, scheduled, started, completed };
const char* state_name(State state);

struct Entry {
  std::int64_t record = -1;  ///< position among all that this process ever called, from 0
  std::uint32_t group = 0;   ///< index in Dump::groups
  std::int64_t seq = -1;     ///< collective_seq_id: counts the collectives of the group
  std::int64_t p2p_seq = -1;
  std::int64_t op_id = -1;  ///< counts both
  Word op = kNoWord;        ///< "nccl:all_reduce"
  Word inputs = kNoWord;    ///< shapes, "[[4, 4]]"
  Word outputs = kNoWord;
  Word input_counts = kNoWord;  ///< elements of each tensor, "[16]"
  Word output_counts = kNoWord;
  Word input_types = kNoWord;  ///< "[Float]"
  Word output_types = kNoWord;
  std::int64_t input_total = 0;  ///< elements of all tensors
  std::int64_t output_total = 0;
  bool even_inputs = true;  ///< all tensors have as many elements
  bool even_outputs = true;
  bool is_p2p = false;  ///< or what ends a batch of such
  bool is_retired = false;
  State state = State::unknown;
  Word code = kNoWord;  ///< where the user's code called it, "train.py:12"
  std::int64_t timeout_ms = -1;
  // By this process's own clock, 0 where not known: never to be compared with another rank's.
  std::int64_t created_ns = 0, started_ns = 0, completed_ns = 0;
};

struct Group {
  Word name = kNoWord;
  Word description = kNoWord;
  Word members = kNoWord;  ///< global ranks in the order of group ranks, "[0, 1]"; may be unknown
  bool is_configured = false;
  // As the process counts, where it says so: -1 is none yet.
  std::optional<std::int64_t> last_enqueued, last_started, last_completed;
};

struct Dump {
  std::string version;
  std::string library;  ///< version of NCCL
  std::optional<int> rank;
  std::vector<Group> groups;
  std::vector<Entry> entries;
};

/// Whether the first bytes (some KiB of them) and the name are those of a dump.
bool looks_like_dump(std::string_view head, std::string_view name);

/// The rank that the usual names end with: nccl_trace_rank_3, comm_lib_trace_rank_3.json.
std::optional<int> rank_of_name(std::string_view name);

/// The usual name of another rank's dump beside this one; empty where the name tells none.
std::string name_for_rank(std::string_view name, int rank);

/// Errors say the byte, or the entry and the key.
model::Result<Dump> read_dump(std::string bytes, Words& words);

/// Group ranks to global ranks: "[0, 1]" as numbers.
std::vector<int> members_of(std::string_view text);

}  // namespace collwatch::flight
