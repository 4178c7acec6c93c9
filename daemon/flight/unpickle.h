// SPDX-License-Identifier: Apache-2.0
//
// Reads a pickle (protocol 2 to 5) that holds nothing but plain values. Whatever would name code,
// call it or ask somebody else (GLOBAL, REDUCE, BUILD, INST, OBJ, persistent ids, extensions) is
// refused with its name and its place; nothing is ever looked up or run. No recursion; time and
// memory are bounded by the number of bytes. Used by read_dump().
#pragma once

#include <string>

#include "daemon/flight/tree.h"
#include "probes/model/result.h"

namespace collwatch::flight {

/// Errors say the byte: "byte 17: ...". What follows STOP is an error, too.
model::Result<Tree> unpickle(std::string bytes);

}  // namespace collwatch::flight
