// SPDX-License-Identifier: Apache-2.0
//
// Any bytes as a user's own file of fingerprints. Properties: no crash, no hang, little memory;
// what is refused is told; what is taken compiles in the matcher, whose prefilter loses no match
// over the very same bytes. Seeds lie in corpus/; a crash found belongs there, too.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "daemon/catalogue/catalogue.h"
#include "daemon/match/matcher.h"

using namespace collwatch;

namespace {

constexpr std::size_t kMostLines = 40;

const catalogue::Catalogue& built_in() {
  static const catalogue::Catalogue made = [] {
    auto catalogue = catalogue::Catalogue::built_in();
    COLLWATCH_ASSERT(catalogue);
    return std::move(*catalogue);
  }();
  return made;
}

void check_line(const match::Matcher& matcher, int count, std::string_view line) {
  std::vector<match::Candidate> found;
  matcher.candidates(line, found);
  std::vector<match::Field> fields;
  for (int i = 0; i < count; ++i) {
    if (!matcher.matches(i, line)) continue;
    const auto& unfiltered = matcher.unfiltered();
    const bool is_tried = std::find(unfiltered.begin(), unfiltered.end(), i) != unfiltered.end() ||
                          std::any_of(found.begin(), found.end(),
                                      [i](const auto& one) { return one.expression == i; });
    COLLWATCH_ASSERT(is_tried);
    fields.clear();
    COLLWATCH_ASSERT(matcher.fields(i, line, fields));
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string yaml(reinterpret_cast<const char*>(data), size);
  catalogue::Catalogue catalogue = built_in();
  if (const auto merged = catalogue.merge(yaml, "mine.yaml"); !merged) {
    COLLWATCH_ASSERT(!merged.error().text.empty());
    return 0;
  }
  std::vector<std::string> own;
  for (const catalogue::Pattern& pattern : catalogue.patterns()) {
    if (!pattern.origin.empty()) own.push_back(pattern.match);
  }
  const auto matcher = match::Matcher::build(own);
  COLLWATCH_ASSERT(matcher);
  std::size_t lines = 0;
  for (std::size_t start = 0; start < yaml.size() && lines < kMostLines; ++lines) {
    const std::size_t end = std::min(yaml.find('\n', start), yaml.size());
    check_line(*matcher, static_cast<int>(own.size()),
               std::string_view(yaml).substr(start, end - start));
    start = end + 1;
  }
  return 0;
}
