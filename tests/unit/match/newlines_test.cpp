// SPDX-License-Identifier: Apache-2.0
//
// Counting against the plain way, at every length and alignment that the loop knows.
#include "daemon/match/newlines.h"

#include <algorithm>
#include <random>
#include <string>

#include "tests/support/catch.h"

using namespace collwatch;

TEST_CASE("newlines are counted as std::count does") {
  std::mt19937 random(3);
  std::string text;
  for (int i = 0; i < 2000; ++i) text += random() % 3 == 0 ? '\n' : static_cast<char>(random());
  for (std::size_t start = 0; start < 140; start += 7) {
    for (std::size_t size = 0; size + start <= text.size(); size += 13) {
      const std::string_view part = std::string_view(text).substr(start, size);
      REQUIRE(match::newlines_in(part) ==
              static_cast<std::size_t>(std::count(part.begin(), part.end(), '\n')));
    }
  }
  CHECK(match::newlines_in(std::string(1000, '\n')) == 1000);
  CHECK(match::newlines_in("") == 0);
}

TEST_CASE("a line begins behind the newline before it") {
  const std::string_view text = "ab\n\ncd";
  const std::size_t starts[] = {0, 0, 0, 3, 4, 4, 4};
  for (std::size_t at = 0; at <= text.size(); ++at)
    CHECK(match::line_start(text, at) == starts[at]);
  CHECK(match::line_start("", 0) == 0);
}
