// SPDX-License-Identifier: Apache-2.0
//
// The catalogue on paper: an entry, the table of all, one layer side by side; for a terminal and as
// markdown (docs/fingerprints/ is made of the latter). Placeholders stand as words. Pure.
#pragma once

#include <string>

#include "daemon/explain/find.h"

namespace collwatch::explain {

std::string table_text(const catalogue::Catalogue& catalogue, bool colour);
std::string entry_text(const catalogue::Entry& entry, bool colour);
/// What its errors really indicate and what tells them apart.
std::string layer_text(const catalogue::Catalogue& catalogue, const std::string& layer,
                       bool colour);
/// One or two lines: why this entry, and what the text says about who printed it.
std::string found_text(const Found& found);

std::string table_markdown(const catalogue::Catalogue& catalogue);
std::string entry_markdown(const catalogue::Entry& entry);
std::string layer_markdown(const catalogue::Catalogue& catalogue, const std::string& layer);

}  // namespace collwatch::explain
