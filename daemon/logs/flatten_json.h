// SPDX-License-Identifier: Apache-2.0
//
// Records that a log shipper or logger wrote as JSON, a record a line (journalctl -o json, Docker's
// json-file, python-json-logger, structlog), made into the line that they stand for. Used wherever
// lines are cleaned; pure.
#pragma once

#include <cstddef>

namespace collwatch::logs {

/// Rewrites, in place, each line that is one JSON object with a message: to the message, with who
/// wrote it and when in front as prefixes that peel() knows. A line end within the message becomes
/// a vertical tab, so that lines keep their numbers. Returns the new length, which is never larger;
/// other lines are not touched.
std::size_t flatten_json(char* text, std::size_t size);

}  // namespace collwatch::logs
