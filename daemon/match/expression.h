// SPDX-License-Identifier: Apache-2.0
//
// One regular expression, alone: for checking a file of fingerprints, for the single line that
// somebody asks about. Linear in the length of the line whatever the expression, and bounded in
// memory, so that one of a user's own file cannot blow up. Works on bytes, since logs are not
// always UTF-8. Immutable; any thread may search with it. Many expressions against much text are
// Matcher's.
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

namespace collwatch::match {

inline constexpr std::size_t kMostExpressionBytes = 2048;
inline constexpr int kMostGroups = 24;

class Expression {
 public:
  /// Errors say what is wrong with it: syntax, too large, finds something in an empty line. What
  /// compiles here compiles in any Matcher.
  static model::Result<Expression> compile(const std::string& text);

  Expression(Expression&&) noexcept;
  Expression& operator=(Expression&&) noexcept;
  Expression(const Expression&) = delete;
  Expression& operator=(const Expression&) = delete;
  ~Expression();

  bool finds(std::string_view line) const;
  /// The named groups that took part, or nothing where `line` does not match.
  std::optional<std::map<std::string, std::string>> fields(std::string_view line) const;

 private:
  explicit Expression(std::unique_ptr<re2::RE2> compiled);
  std::unique_ptr<re2::RE2> compiled_;
};

}  // namespace collwatch::match
