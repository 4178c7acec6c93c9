// SPDX-License-Identifier: Apache-2.0
//
// Whether standard output is a terminal that a person looks at and wants colours on. Used by the
// commands that print text.
#pragma once

#include "daemon/cli/table.h"

namespace collwatch::cli {

/// Colour only where a person looks, and where they have not said otherwise (no-color.org).
Colour colour_of_stdout();

}  // namespace collwatch::cli
