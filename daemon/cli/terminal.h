// SPDX-License-Identifier: Apache-2.0
//
// Standard output and standard error: whether a person looks and wants colours, whether what was
// printed arrived. Used by main() and the commands that print text.
#pragma once

#include <string>

#include "daemon/cli/table.h"

namespace collwatch::cli {

/// Colour only where a person looks, and where they have not said otherwise (no-color.org).
Colour colour_of_stdout();

/// Standard streams that were closed are opened, so that no file gets their numbers: what is
/// written to them fails, as it should. First thing in main().
void hold_standard_streams();

/// Why what was printed did not all arrive; empty: it did. Last thing in main().
std::string why_not_printed();

/// "collwatch: text" on standard error, with nothing in it that a terminal would obey.
void complain(const std::string& text);

}  // namespace collwatch::cli
