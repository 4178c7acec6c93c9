// SPDX-License-Identifier: Apache-2.0
//
// A library's error text, cut down to the sentence, the same in every run. Pure.
#pragma once

#include <string>
#include <string_view>

namespace collwatch::c10d_probe {

/// The first line, at most 300 bytes, ports and descriptors replaced by N.
std::string first_words(std::string_view text);

}  // namespace collwatch::c10d_probe
