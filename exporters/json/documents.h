// SPDX-License-Identifier: Apache-2.0
//
// Snapshot in, the JSON documents of the HTTP API and the event log out. docs/schema/ holds their
// JSON Schemas and a test holds the two together. Pure, from any thread; never throws: bytes that
// are not UTF-8 become U+FFFD, numbers that are not finite become null.
#pragma once

#include <string>

#include "exporters/snapshot.h"

namespace collwatch::exporters {

/// GET /api/v1/status. `snapshot_age_seconds`: how long ago the Snapshot was made; it adds to the
/// round's age, which so keeps growing while the loop is stuck.
std::string status_json(const Snapshot& snapshot, double snapshot_age_seconds = 0);

std::string verdicts_json(const Snapshot& snapshot);
std::string fingerprints_json(const Snapshot& snapshot);
std::string events_json(const Snapshot& snapshot);

/// One event as one line of the event log, without the newline; also an item of events_json.
std::string event_line(const Event& event);

/// {"schema": 1, "error": text}
std::string error_json(const std::string& text);

inline constexpr const char* kJsonContentType = "application/json; charset=utf-8";

}  // namespace collwatch::exporters
