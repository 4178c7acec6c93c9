// SPDX-License-Identifier: Apache-2.0
//
// All dumps of a job, turned round: per process group, what each member called, by the group's own
// count of collectives. Clocks play no part. Used by analyse(); points into the dumps.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "daemon/flight/dump.h"
#include "daemon/flight/words.h"

namespace collwatch::flight {

struct RankDump {
  int rank = 0;  ///< global
  std::string file;
  Dump dump;
};

/// One collective as one rank called it. What was coalesced into one has several entries.
struct Item {
  std::int64_t seq = 0;
  const Entry* entry = nullptr;  ///< the first
  long number = 0;               ///< of that entry in its dump, from 1
  Word op = kNoWord;
  bool is_single = true;
  bool is_done = false;
  State state = State::unknown;  ///< of the least advanced
};

struct Member {
  int rank = 0;
  const RankDump* dump = nullptr;  ///< none: nobody has given us one
  std::vector<Item> items;         ///< by seq
  std::int64_t enqueued = -1;      ///< -1: none, or not known
  std::int64_t completed = -1;
  bool is_cut = false;    ///< the ring has overwritten what came before its items
  bool is_clear = false;  ///< it is known what it called last

  const Item* at(std::int64_t seq) const;
  /// The first that is not known to be done.
  const Item* pending() const;
  /// The last that it called, where the dump shows it.
  const Item* last() const { return items.empty() ? nullptr : &items.back(); }
};

struct GroupView {
  std::string name, description;
  std::vector<Member> members;  ///< in the order of group ranks
  bool are_members_known = false;

  std::optional<int> group_rank_of(int rank) const;
  std::string title() const;  ///< "group 0 (default_pg)"
};

/// Every rank of the job, as far as dumps tell: Gloo's do not list the members of the default
/// group.
std::set<int> ranks_of(const std::vector<RankDump>& dumps, std::optional<int> world,
                       const Words& words);

class ByGroup;

/// Groups of which some dump is here, one after the other: of a large job they would not all fit.
/// Those with one member, and those in which nobody has called anything, are left out.
class Views {
 public:
  /// `dumps` has one of each rank.
  Views(const std::vector<RankDump>& dumps, const std::set<int>& ranks, Words& words);
  ~Views();
  Views(const Views&) = delete;
  Views& operator=(const Views&) = delete;

  std::optional<GroupView> next();

 private:
  /// Name and members: a name alone is not enough, ranks may have groups of one name and other
  /// members. Every process knows the groups that it is no member of, too.
  using Key = std::pair<Word, Word>;
  struct Listed {
    const RankDump* dump;
    std::uint32_t group;
  };

  GroupView view_of(const Key& key, const std::vector<Listed>& listed);

  const std::set<int>& ranks_;
  Words& words_;
  std::map<int, const RankDump*> dumps_;
  std::map<const RankDump*, std::unique_ptr<ByGroup>> entries_;
  std::map<Key, std::vector<Listed>> groups_;
  std::map<Key, std::vector<Listed>>::const_iterator next_;
  std::size_t member_count_ = 0;
};

}  // namespace collwatch::flight
