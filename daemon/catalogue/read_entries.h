// SPDX-License-Identifier: Apache-2.0
//
// A fingerprints file to the changes it asks for, strictly: an unknown key is a sentence that would
// silently not be shown, a wrong pattern one that would silently not match. Pure; the schema is
// docs/schema/fingerprints-file.md.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "daemon/catalogue/catalogue.h"

namespace collwatch::catalogue {

/// What a file says about one fingerprint: of `entry` only what is in `given` counts.
struct Change {
  Entry entry;
  std::vector<std::string> given;  ///< keys
};

enum class Whose {
  built_in,  ///< patterns are taken as they are
  own        ///< a user's: patterns are tried on their examples, and carry where they come from
};

/// Every problem at once, each with file, line and key.
model::Result<std::vector<Change>> read_changes(const std::string& yaml, const std::string& name,
                                                Whose whose);

}  // namespace collwatch::catalogue
