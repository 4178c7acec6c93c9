// SPDX-License-Identifier: Apache-2.0
//
// The tail keeps exactly the last bytes, whatever the pieces they came in.
#include "daemon/supervise/output_tail.h"

#include <string>

#include "tests/support/catch.h"

using collwatch::supervise::OutputTail;

TEST_CASE("below its capacity the tail is all that was printed") {
  OutputTail tail(8);
  CHECK(tail.text().empty());
  tail.append("abc");
  tail.append("");
  tail.append("de");
  CHECK(tail.text() == "abcde");
  CHECK(tail.total_bytes() == 5);
}

TEST_CASE("above its capacity the oldest bytes go first") {
  OutputTail tail(8);
  tail.append("12345678");
  CHECK(tail.text() == "12345678");
  tail.append("9");
  CHECK(tail.text() == "23456789");
  tail.append("a long piece of output");
  CHECK(tail.text() == "f output");
  CHECK(tail.total_bytes() == 31);
}

TEST_CASE("any cutting into pieces gives the same tail") {
  std::string printed;
  for (int i = 0; i < 500; ++i) printed += std::to_string(i) + ",";
  for (std::size_t piece = 1; piece <= 97; ++piece) {
    OutputTail tail(64);
    for (std::size_t at = 0; at < printed.size(); at += piece) {
      tail.append(std::string_view(printed).substr(at, piece));
      REQUIRE(tail.text().size() <= 64);
    }
    REQUIRE(tail.text() == printed.substr(printed.size() - 64));
    REQUIRE(tail.total_bytes() == printed.size());
  }
}

TEST_CASE("a tail of no bytes keeps nothing and still counts, and zero bytes are bytes") {
  OutputTail nothing(0);
  nothing.append("abc");
  CHECK(nothing.text().empty());
  CHECK(nothing.total_bytes() == 3);

  OutputTail tail(4);
  tail.append(std::string_view("a\0b", 3));
  CHECK(tail.text() == std::string("a\0b", 3));
}
