// SPDX-License-Identifier: Apache-2.0
//
// Texts that occur again and again in dumps (operations, shapes, members of groups), each kept once
// and from then on a number. All dumps of a job share one table, so that what two ranks did is
// compared as numbers. Used by read_dump() and the analysis.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <string>
#include <string_view>
#include <unordered_map>

namespace collwatch::flight {

using Word = std::uint32_t;
constexpr Word kNoWord = 0;  ///< the empty text

class Words {
 public:
  Words();
  Words(const Words&) = delete;
  Words& operator=(const Words&) = delete;

  Word of(std::string_view text);
  const std::string& text(Word word) const { return texts_[word]; }
  std::size_t bytes() const { return bytes_; }

 private:
  std::deque<std::string> texts_;  ///< never moved: the keys below point into it
  std::unordered_map<std::string_view, Word> known_;
  std::size_t bytes_ = 0;
};

}  // namespace collwatch::flight
