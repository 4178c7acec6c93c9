// SPDX-License-Identifier: Apache-2.0
//
// How problems become one Error, and how foreign text is made fit for a message. Used by every
// file of this folder.
#include "daemon/config/tree.h"

namespace collwatch::config {

model::Error Problems::error() const {
  COLLWATCH_ASSERT(!sentences_.empty());
  std::string text;
  for (const std::string& sentence : sentences_) {
    if (!text.empty()) text += '\n';
    text += sentence;
  }
  if (seen_ > sentences_.size()) {
    text += "\n(" + std::to_string(seen_ - sentences_.size()) + " more)";
  }
  return {model::ErrorCode::invalid_argument, std::move(text), 0};
}

std::string shown(const std::string& text) {
  constexpr std::size_t kLongest = 64;
  std::string out = text.substr(0, kLongest);
  for (char& c : out) {
    if (static_cast<unsigned char>(c) < 0x20 || c == 0x7f) c = '?';
  }
  if (text.size() > kLongest) out += "...";
  return out;
}

}  // namespace collwatch::config
