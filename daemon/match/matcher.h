// SPDX-License-Identifier: Apache-2.0
//
// Many regular expressions against much text: a prefilter over the literals that each expression
// cannot do without, then the expressions themselves, only on lines and only those that the
// prefilter let through. RE2 is used here alone. Used by the log engine; after building, any number
// of threads may read.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "daemon/match/sampler.h"
#include "probes/model/result.h"

namespace collwatch::match {

/// A named group and what it matched.
using Field = std::pair<std::string, std::string>;

/// Which expressions might match a line; from the prefilter.
struct Candidate {
  std::size_t at = 0;  ///< somewhere in the line
  int expression = 0;
};

enum class Prefilter {
  on,
  off  ///< every expression counts as one without a literal: slow, for tests to compare with
};

class Matcher {
 public:
  Matcher();
  ~Matcher();
  Matcher(Matcher&&) noexcept;
  Matcher& operator=(Matcher&&) noexcept;

  /// An expression that does not compile, or that would need too much memory, is named in the
  /// error. `never_candidates` are indices of those that the prefilter shall not look for.
  static model::Result<Matcher> build(const std::vector<std::string>& expressions,
                                      const std::vector<int>& never_candidates = {},
                                      Prefilter prefilter = Prefilter::on);

  /// All places in a block of lines at which an expression might match, in the order of the lines.
  /// Complete for lines that are ASCII where the expression is.
  void candidates(std::string_view block, std::vector<Candidate>& found) const;

  /// Whether one expression matches somewhere in the line.
  bool matches(int expression, std::string_view line) const;

  /// Whether it has named groups.
  bool has_fields(int expression) const;

  /// The named groups that took part, where it matches.
  bool fields(int expression, std::string_view line, std::vector<Field>& into) const;

  /// Expressions without a literal to search for: these are tried on every line.
  const std::vector<int>& unfiltered() const;

  /// How often candidates() goes over the text: short literals cost a slow pass of their own.
  std::size_t passes() const;

 private:
  struct Parts;
  std::unique_ptr<Parts> parts_;
};

}  // namespace collwatch::match
