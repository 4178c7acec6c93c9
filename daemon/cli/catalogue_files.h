// SPDX-License-Identifier: Apache-2.0
//
// The catalogue with the user's own files over it, for `diagnose`, `explain` and `config check`.
#pragma once

#include <string>
#include <vector>

#include "daemon/catalogue/catalogue.h"

namespace collwatch::cli {

/// The later file wins. An Error tells every problem with file, line and key.
model::Result<catalogue::Catalogue> catalogue_with(const std::vector<std::string>& files);

/// Ids of patterns that hold no word to search for: they are tried on every line, which makes
/// reading slow.
model::Result<std::vector<std::string>> slow_patterns(const catalogue::Catalogue& catalogue);

}  // namespace collwatch::cli
