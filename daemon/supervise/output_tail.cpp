// SPDX-License-Identifier: Apache-2.0
//
// Moves at most `capacity` bytes per append; a ring would save that and cost a readable text().
#include "daemon/supervise/output_tail.h"

namespace collwatch::supervise {

void OutputTail::append(std::string_view bytes) {
  total_bytes_ += bytes.size();
  if (bytes.size() >= capacity_) {
    text_.assign(bytes.substr(bytes.size() - capacity_));
    return;
  }
  const std::size_t room = capacity_ - bytes.size();
  if (text_.size() > room) text_.erase(0, text_.size() - room);
  text_.append(bytes);
}

}  // namespace collwatch::supervise
