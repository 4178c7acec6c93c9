// SPDX-License-Identifier: Apache-2.0
//
// Takes the bytes that RAS sends, in whatever pieces, and makes a report of them: text or JSON is
// told by the first letter. At most kMostBytes are looked at. Never throws; fuzzed.
#pragma once

#include <cstddef>
#include <optional>
#include <string_view>

#include "daemon/ras/json_report.h"
#include "daemon/ras/report.h"
#include "daemon/ras/text_report.h"

namespace collwatch::ras {

class Reader {
 public:
  static constexpr std::size_t kMostBytes = std::size_t{64} << 20;

  Reader() = default;
  Reader(const Reader&) = delete;
  Reader& operator=(const Reader&) = delete;

  void add(std::string_view bytes);
  /// What is known once the server has closed; the reader is used up.
  Report finish();
  std::size_t bytes() const { return bytes_; }

 private:
  Report report_;
  std::size_t bytes_ = 0;
  std::optional<JsonReport> json_;
  std::optional<TextReport> text_;
};

}  // namespace collwatch::ras
