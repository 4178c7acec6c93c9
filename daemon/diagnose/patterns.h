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
  static model::Result<Patterns> build(const catalogue::Catalogue& catalogue);

  const match::Matcher& matcher() const { return matcher_; }

  /// The rule of the grammar behind an expression, or null where it is one of the catalogue's.
  const Rule* rule(int expression) const;
  /// The catalogue's pattern behind an expression, or null.
  const catalogue::Pattern* pattern(int expression) const;
  /// Whether of two of the catalogue's expressions the first speaks for a line that both match.
  bool before(int a, int b) const;

 private:
  match::Matcher matcher_;
  std::vector<catalogue::Pattern> catalogued_;
};

}  // namespace collwatch::diagnose
