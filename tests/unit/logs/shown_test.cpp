// SPDX-License-Identifier: Apache-2.0
//
// What a terminal would obey is shown instead, everything else stays.
#include "daemon/logs/shown.h"

#include "tests/support/catch.h"

using namespace collwatch;
using logs::shown;

TEST_CASE("controls, C1, direction marks and broken UTF-8 are shown as what they are") {
  CHECK(shown("a\x1b[31mb") == "a\\x1b[31mb");
  CHECK(shown("a\nb\r\tc\x7f") == "a\\nb\\r\\tc\\x7f");
  CHECK(shown(std::string("a\0b", 3)) == "a\\x00b");
  CHECK(shown("a\nb\x07", logs::Lines::keep) == "a\nb\\x07");
  CHECK(shown("\xc2\x9b"
              "31m") == "\\u{9b}31m");
  CHECK(shown("a\xe2\x80\xaegol.txt") == "a\\u{202e}gol.txt");
  CHECK(shown("a\xe2\x80\xa8"
              "b") == "a\\u{2028}b");
  CHECK(shown("\xff\xfe|\xc3") == "\\xff\\xfe|\\xc3");
  CHECK(shown("n\xc3\xb6"
              "de-\xf0\x9f\x94\xa5 \\x1b") ==
        "n\xc3\xb6"
        "de-\xf0\x9f\x94\xa5 \\x1b");
}
