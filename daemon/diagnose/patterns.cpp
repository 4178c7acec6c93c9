// SPDX-License-Identifier: Apache-2.0
//
// One list of expressions: the grammar first, then the catalogue.
#include "daemon/diagnose/patterns.h"

#include <algorithm>
#include <numeric>

namespace collwatch::diagnose {

model::Result<Patterns> Patterns::build(const catalogue::Catalogue& catalogue,
                                        match::Prefilter prefilter) {
  Patterns patterns;
  std::vector<std::string> expressions;
  for (const Rule& rule : grammar()) {
    if (rule.mark == Mark::beside) patterns.beside_.push_back(static_cast<int>(expressions.size()));
    expressions.emplace_back(rule.expression);
    patterns.rules_.push_back(&rule);
  }
  patterns.catalogued_ = catalogue.patterns();
  for (const catalogue::Pattern& pattern : patterns.catalogued_)
    expressions.push_back(pattern.match);
  patterns.rules_.resize(expressions.size(), nullptr);
  auto matcher = match::Matcher::build(expressions, patterns.beside_, prefilter);
  if (!matcher) return model::fail(model::wrap(matcher.error(), "catalogue"));
  patterns.matcher_ = std::move(*matcher);
  for (const std::string& expression : expressions) {
    const auto has = [&](const char* sign) { return expression.find(sign) != std::string::npos; };
    patterns.looks_at_ends_.push_back(has("^") || has("$") || has("\\b") || has("\\B") ||
                                      has("\\A") || has("\\z"));
  }
  std::vector<std::size_t> order(patterns.catalogued_.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) {
    return catalogue::before(patterns.catalogued_[a], a, patterns.catalogued_[b], b);
  });
  patterns.places_.assign(expressions.size(), 0);
  for (std::size_t i = 0; i < order.size(); ++i)
    patterns.places_[grammar().size() + order[i]] = static_cast<int>(i) + 1;
  return patterns;
}

bool Patterns::may_act(const std::vector<int>& expressions) const {
  return std::any_of(expressions.begin(), expressions.end(), [&](int expression) {
    const Rule* const found = rule(expression);
    return found != nullptr && found->mark != Mark::fields && found->mark != Mark::beside;
  });
}

const catalogue::Pattern* Patterns::pattern(int expression) const {
  const auto at = static_cast<std::size_t>(expression);
  const std::size_t first = rules_.size() - catalogued_.size();
  return at < first ? nullptr : &catalogued_[at - first];
}

}  // namespace collwatch::diagnose
