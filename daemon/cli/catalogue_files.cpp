// SPDX-License-Identifier: Apache-2.0
//
// Merges in the order of the command line.
#include "daemon/cli/catalogue_files.h"

#include "daemon/diagnose/patterns.h"

namespace collwatch::cli {

model::Result<catalogue::Catalogue> catalogue_with(const std::vector<std::string>& files) {
  auto catalogue = catalogue::Catalogue::built_in();
  if (!catalogue) return catalogue;
  for (const std::string& file : files) {
    if (const auto merged = catalogue->merge_file(file); !merged)
      return model::fail(merged.error());
  }
  return catalogue;
}

model::Result<std::vector<std::string>> slow_patterns(const catalogue::Catalogue& catalogue) {
  const auto patterns = diagnose::Patterns::build(catalogue);
  if (!patterns) return model::fail(patterns.error());
  std::vector<std::string> slow;
  for (const int expression : patterns->matcher().unfiltered()) {
    if (const catalogue::Pattern* pattern = patterns->pattern(expression))
      slow.push_back(pattern->id);
  }
  return slow;
}

}  // namespace collwatch::cli
