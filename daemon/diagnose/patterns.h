// SPDX-License-Identifier: Apache-2.0
//
// The catalogue's patterns and the engine's grammar, compiled into one matcher. Built once per run
// and shared; read-only afterwards.
#pragma once

#include <string>
#include <vector>

#include "daemon/catalogue/catalogue.h"
#include "daemon/diagnose/grammar.h"
#include "daemon/match/matcher.h"

namespace collwatch::diagnose {

class Patterns {
 public:
  static model::Result<Patterns> build(const catalogue::Catalogue& catalogue,
                                       match::Prefilter prefilter = match::Prefilter::on);

  const match::Matcher& matcher() const { return matcher_; }
  /// Expressions are numbered from 0.
  int count() const { return static_cast<int>(places_.size()); }

  /// The rule of the grammar behind an expression, or null where it is one of the catalogue's.
  const Rule* rule(int expression) const { return rules_[static_cast<std::size_t>(expression)]; }
  /// The catalogue's pattern behind an expression, or null.
  const catalogue::Pattern* pattern(int expression) const;
  /// Whether it comes from a user's own file.
  bool is_own(int expression) const {
    const catalogue::Pattern* const found = pattern(expression);
    return found != nullptr && !found->origin.empty();
  }
  /// Whether one of them is a rule that does more than add fields.
  bool may_act(const std::vector<int>& expressions) const;
  /// Of the catalogue's expressions that match a line, the one with the lowest place speaks for it.
  int place(int expression) const { return places_[static_cast<std::size_t>(expression)]; }
  /// Whether it makes a difference to the expression where the text begins and ends.
  bool looks_at_ends(int expression) const {
    return looks_at_ends_[static_cast<std::size_t>(expression)];
  }
  /// Expressions that are tried on every line that has a candidate.
  const std::vector<int>& beside() const { return beside_; }

 private:
  match::Matcher matcher_;
  std::vector<const Rule*> rules_;  ///< of each expression
  std::vector<catalogue::Pattern> catalogued_;
  std::vector<int> beside_;
  std::vector<int> places_;
  std::vector<bool> looks_at_ends_;
};

}  // namespace collwatch::diagnose
