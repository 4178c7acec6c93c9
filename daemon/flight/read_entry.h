// SPDX-License-Identifier: Apache-2.0
//
// One entry of a dump out of the tree. A pickle may refer to one list a million times; a budget of
// looks bounds what comes of that. Used by read_dump() alone.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <unordered_map>

#include "daemon/flight/dump.h"
#include "daemon/flight/tree.h"

namespace collwatch::flight {

/// Longer names are cut: they are for people to read.
constexpr std::size_t kLongestName = 200;
std::string_view cut(std::string_view text);

class EntryReader {
 public:
  EntryReader(const Tree& tree, Words& words, Dump& dump)
      : tree_(tree), words_(words), dump_(dump) {}

  /// Empty, or what is wrong: "key 'state': ...".
  std::string read(NodeId node, Entry& entry);

  /// The group of this name, made where it is new.
  std::uint32_t group(Word name, Word description);

  /// False where so much was looked at that this is no honest dump.
  bool spend(std::size_t looks);

 private:
  struct Shapes {
    Word shapes = kNoWord, counts = kNoWord;
    std::int64_t total = 0;
    bool is_even = true;
  };

  std::string key(std::string_view name, NodeId value, Entry& entry);
  std::string number(NodeId value, std::int64_t& into) const;
  std::string name_of_group(NodeId value, Entry& entry);
  std::string shapes(NodeId value, Shapes& into);
  std::string types(NodeId value, Word& into);
  static State state_of(std::string_view text);
  Word code_of(NodeId frames);

  const Tree& tree_;
  Words& words_;
  Dump& dump_;
  std::unordered_map<Word, std::uint32_t> groups_;  ///< by name
  std::unordered_map<NodeId, Word> frames_;         ///< pickles share them
  std::size_t spent_ = 0;
};

}  // namespace collwatch::flight
