// SPDX-License-Identifier: Apache-2.0
//
// One compiled pattern of the catalogue. RE2: linear in the length of the line whatever the
// pattern, and bounded in memory, so that a pattern of a user's own file cannot blow up. Works on
// bytes, since logs are not always UTF-8. Immutable; any thread may search with it.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "probes/model/result.h"

namespace re2 {
class RE2;
}

namespace collwatch::catalogue {

inline constexpr std::size_t kMaxPatternBytes = 2048;

class Regex {
 public:
  /// Errors say what is wrong with it: syntax, too large, finds something in an empty line.
  static model::Result<Regex> compile(const std::string& pattern);

  Regex(Regex&&) noexcept;
  Regex& operator=(Regex&&) noexcept;
  Regex(const Regex&) = delete;
  Regex& operator=(const Regex&) = delete;
  ~Regex();

  bool finds(std::string_view line) const;
  /// The named groups that took part, or nothing where `line` does not match.
  std::optional<std::map<std::string, std::string>> fields(std::string_view line) const;

 private:
  explicit Regex(std::unique_ptr<re2::RE2> compiled);
  std::unique_ptr<re2::RE2> compiled_;
};

}  // namespace collwatch::catalogue
