// SPDX-License-Identifier: Apache-2.0
//
// The built-in patterns against the lines beside them: each finds its own, and no line is claimed
// by another fingerprint.
#include <set>

#include "daemon/catalogue/catalogue.h"
#include "daemon/match/expression.h"
#include "tests/support/catch.h"

namespace {

using namespace collwatch;
using catalogue::Pattern;

const catalogue::Catalogue& built_in() {
  static const auto kCatalogue = catalogue::Catalogue::built_in();
  if (!kCatalogue) FAIL(kCatalogue.error().text);
  return *kCatalogue;
}

/// The pattern that speaks for a line, or null.
const Pattern* speaker(const std::vector<Pattern>& patterns,
                       const std::vector<match::Expression>& regexes, const std::string& line) {
  const Pattern* best = nullptr;
  std::size_t best_index = 0;
  for (std::size_t i = 0; i < patterns.size(); ++i) {
    if (!regexes[i].finds(line)) continue;
    if (best == nullptr || catalogue::before(patterns[i], i, *best, best_index)) {
      best = &patterns[i];
      best_index = i;
    }
  }
  return best;
}

}  // namespace

TEST_CASE("every pattern has an id of its own, versions, and an example") {
  std::set<std::string> ids;
  for (const Pattern& pattern : built_in().patterns()) {
    CAPTURE(pattern.id);
    CHECK(ids.insert(pattern.id).second);
    CHECK_FALSE(pattern.versions.empty());
    CHECK_FALSE(pattern.examples.empty());
  }
}

TEST_CASE("every example is claimed by its own pattern") {
  const std::vector<Pattern> patterns = built_in().patterns();
  std::vector<match::Expression> regexes;
  for (const Pattern& pattern : patterns) {
    auto regex = match::Expression::compile(pattern.match);
    REQUIRE(regex);
    regexes.push_back(std::move(*regex));
  }
  for (const Pattern& pattern : patterns) {
    for (const std::string& example : pattern.examples) {
      CAPTURE(pattern.id, example);
      const Pattern* const found = speaker(patterns, regexes, example);
      REQUIRE(found != nullptr);
      CHECK(found->id == pattern.id);
    }
  }
}

TEST_CASE("every fingerprint that can be in a log has patterns") {
  for (const catalogue::Entry& entry : built_in().entries()) {
    CAPTURE(std::string(model::name(entry.id)));
    CHECK_FALSE(entry.patterns.empty());
    if (entry.id != model::Fingerprint::none) continue;
    for (const Pattern& pattern : entry.patterns) CHECK(pattern.role == catalogue::Role::benign);
  }
}
