// SPDX-License-Identifier: Apache-2.0
//
// Which of the two formats, and no more of it than may be.
#include "daemon/ras/reader.h"

#include <algorithm>
#include <utility>

namespace collwatch::ras {

void Reader::add(std::string_view bytes) {
  const std::size_t room = kMostBytes - std::min(bytes_, kMostBytes);
  bytes_ += bytes.size();
  bytes = bytes.substr(0, room);
  if (!json_ && !text_) {
    const std::size_t first = bytes.find_first_not_of(" \t\r\n");
    if (first == std::string_view::npos) return;
    bytes.remove_prefix(first);
    report_.format = bytes[0] == '{' ? Report::Format::json : Report::Format::text;
    if (bytes[0] == '{') {
      json_.emplace(report_);
    } else {
      text_.emplace(report_);
    }
  }
  if (json_) json_->add(bytes);
  if (text_) text_->add(bytes);
}

Report Reader::finish() {
  if (json_) {
    json_->finish();
  } else if (text_) {
    text_->finish();
  } else {
    report_.trouble = "it is empty";
  }
  if (bytes_ > kMostBytes) {
    report_.complete = false;
    report_.trouble = "it is longer than 64 MiB";
  }
  return std::move(report_);
}

}  // namespace collwatch::ras
