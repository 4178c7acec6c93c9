// SPDX-License-Identifier: Apache-2.0
//
// From what a person has in hand (an id, an alert's name, a line of a log, a few words) to the
// entry that it belongs to. Used by `collwatch explain`; pure.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "daemon/catalogue/catalogue.h"

namespace collwatch::explain {

enum class FoundBy { id, pattern, phrase, words };

struct Found {
  model::Fingerprint id = model::Fingerprint::none;
  FoundBy by = FoundBy::id;
  std::optional<catalogue::Pattern> pattern;  ///< only where it was one
  std::string phrase;                         ///< only where it was one
  std::vector<model::Fingerprint> others;     ///< as good or nearly, where it was a phrase or words
};

/// Nothing where no entry is meant. Of several lines the one that accuses most speaks.
std::optional<Found> find(const catalogue::Catalogue& catalogue, const std::string& text);

/// The entries of one layer: its own, and those that its environment variables tell apart.
std::vector<const catalogue::Entry*> entries_of_layer(const catalogue::Catalogue& catalogue,
                                                      const std::string& layer);

/// All layers, in the order of the entries.
std::vector<std::string> layers(const catalogue::Catalogue& catalogue);

}  // namespace collwatch::explain
