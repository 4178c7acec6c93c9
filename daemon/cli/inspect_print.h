// SPDX-License-Identifier: Apache-2.0
//
// What `collwatch inspect` says about a ProcessReport: to a person, or as the document of
// docs/schema/inspect.json. Pure.
#pragma once

#include <cstdint>
#include <string>

#include "daemon/cli/table.h"
#include "daemon/processes/report.h"

namespace collwatch::cli {

std::string inspect_text(const processes::ProcessReport& report, Colour colour);

/// "812 bytes", "12 KiB", "3 MiB"
std::string size_text(std::uint64_t bytes);

/// `at` is RFC 3339.
std::string inspect_json(const processes::ProcessReport& report, const std::string& host,
                         const std::string& at);

}  // namespace collwatch::cli
