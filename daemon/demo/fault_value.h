// SPDX-License-Identifier: Apache-2.0
//
// The parts of a fault's SPEC that are more than a name: times, what stands behind '=', and the two
// sides of a partition. Pure; used by the parser in fault.cpp only. Errors say what is wrong, the
// parser adds the SPEC.
#pragma once

#include <optional>
#include <string>

#include "daemon/demo/fault.h"

namespace collwatch::demo {

/// "10s", "0.5s", "250ms", "2m". Nothing when it is none of these or negative.
std::optional<std::chrono::milliseconds> parse_time(const std::string& text);

/// The number behind an existing node's name, or nothing.
std::optional<int> parse_node(const std::string& text, int nodes);

/// "the nodes are n0 to n3"
std::string existing(int nodes);

/// Sets fault.value for the kinds that take one; `text`: behind '=', or nothing.
model::Result<void> parse_value(const std::optional<std::string>& text, int nodes, Fault& fault);

/// "n0,n1/n2,n3" into fault.side and fault.rest: every node on exactly one of them.
model::Result<void> parse_sides(const std::string& text, int nodes, Fault& fault);

}  // namespace collwatch::demo
