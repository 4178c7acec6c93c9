// SPDX-License-Identifier: Apache-2.0
//
// The one way in which a wall time is written: RFC 3339, UTC, milliseconds.
#pragma once

#include <string>

#include "exporters/snapshot.h"

namespace collwatch::exporters {

/// "2023-11-14T22:13:20.250Z"
std::string rfc3339(WallTime time);

}  // namespace collwatch::exporters
