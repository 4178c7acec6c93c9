// SPDX-License-Identifier: Apache-2.0
//
// "Does this text say that?", since Catch2 2 and 3 spell their matchers differently.
#pragma once

#include <string>

inline bool has(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}
