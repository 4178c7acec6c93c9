// SPDX-License-Identifier: Apache-2.0
//
// Interning.
#include "daemon/flight/words.h"

namespace collwatch::flight {

Words::Words() {
  of("");
}

Word Words::of(std::string_view text) {
  const auto it = known_.find(text);
  if (it != known_.end()) return it->second;
  const Word word = static_cast<Word>(texts_.size());
  texts_.emplace_back(text);
  known_.emplace(texts_.back(), word);
  bytes_ += text.size();
  return word;
}

}  // namespace collwatch::flight
