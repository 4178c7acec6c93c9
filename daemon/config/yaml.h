// SPDX-License-Identifier: Apache-2.0
//
// YAML bytes to a Tree. The only place that knows the YAML library; nothing is thrown out of it.
// Bounded: 1 MiB, 20 levels, 20,000 values; anchors and aliases are refused (nothing here needs
// them, and they make a small file arbitrarily large). Fuzzed.
#pragma once

#include <string>

#include "daemon/config/tree.h"
#include "probes/model/result.h"

namespace collwatch::config {

inline constexpr std::size_t kMaxFileBytes = 1 << 20;

/// `name` stands in front of messages: "collwatch.yaml:3: not valid YAML: ...". An empty document
/// is an empty section. Duplicate keys are kept; whoever walks the tree reports them.
model::Result<Tree> parse_yaml(const std::string& bytes, const std::string& name);

/// Reads the file (regular, at most 1 MiB) and parses it.
model::Result<Tree> read_yaml(const std::string& path);

}  // namespace collwatch::config
