// SPDX-License-Identifier: Apache-2.0
//
// Reads a dump that was written as JSON into the same tree as a pickle, under the same limits. Used
// by read_dump().
#pragma once

#include <string_view>

#include "daemon/flight/tree.h"
#include "probes/model/result.h"

namespace collwatch::flight {

model::Result<Tree> read_json(std::string_view bytes);

}  // namespace collwatch::flight
