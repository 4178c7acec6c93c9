// SPDX-License-Identifier: Apache-2.0
//
// The reports of tests/cases/ras, for the tests of this folder.
#pragma once

#include <algorithm>
#include <cstddef>
#include <fstream>
#include <iterator>
#include <string>

#include "daemon/ras/reader.h"
#include "tests/support/catch.h"

namespace ras_cases {

inline std::string text_of(const std::string& name) {
  std::ifstream file(std::string(COLLWATCH_SOURCE_DIR) + "/tests/cases/ras/" + name);
  REQUIRE(file.good());
  return {std::istreambuf_iterator<char>(file), {}};
}

inline collwatch::ras::Report read_text(const std::string& text, std::size_t piece = 1U << 20) {
  collwatch::ras::Reader reader;
  for (std::size_t at = 0; at < text.size(); at += piece) {
    reader.add(std::string_view(text).substr(at, piece));
  }
  return reader.finish();
}

inline collwatch::ras::Report read_case(const std::string& name) {
  return read_text(text_of(name));
}

}  // namespace ras_cases
