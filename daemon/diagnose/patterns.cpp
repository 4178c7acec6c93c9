// SPDX-License-Identifier: Apache-2.0
//
// One list of expressions: the grammar first, then the catalogue.
#include "daemon/diagnose/patterns.h"

namespace collwatch::diagnose {

model::Result<Patterns> Patterns::build(const catalogue::Catalogue& catalogue) {
  Patterns patterns;
  std::vector<std::string> expressions;
  for (const Rule& rule : grammar()) expressions.emplace_back(rule.expression);
  patterns.catalogued_ = catalogue.patterns();
  for (const catalogue::Pattern& pattern : patterns.catalogued_)
    expressions.push_back(pattern.match);
  auto matcher = match::Matcher::build(expressions);
  if (!matcher) return model::fail(model::wrap(matcher.error(), "catalogue"));
  patterns.matcher_ = std::move(*matcher);
  return patterns;
}

const Rule* Patterns::rule(int expression) const {
  const auto at = static_cast<std::size_t>(expression);
  return at < grammar().size() ? &grammar()[at] : nullptr;
}

const catalogue::Pattern* Patterns::pattern(int expression) const {
  const auto at = static_cast<std::size_t>(expression);
  return at < grammar().size() ? nullptr : &catalogued_[at - grammar().size()];
}

bool Patterns::before(int a, int b) const {
  return catalogue::before(*pattern(a), static_cast<std::size_t>(a), *pattern(b),
                           static_cast<std::size_t>(b));
}

}  // namespace collwatch::diagnose
