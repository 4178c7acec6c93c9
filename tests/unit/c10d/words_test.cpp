// SPDX-License-Identifier: Apache-2.0
//
// A library's words without what changes from run to run.
#include "probes/c10d/words.h"

#include <string>

#include "tests/support/catch.h"

using collwatch::c10d_probe::first_words;

TEST_CASE("the first line is kept, ports and descriptors are not") {
  CHECK(first_words("Invalid scalar type\nException raised from x\n") == "Invalid scalar type");
  CHECK(first_words("[./gloo/pair.cc:598] Connection closed by peer [127.0.0.1]:31234") ==
        "[./gloo/pair.cc:598] Connection closed by peer [127.0.0.1]:N");
  CHECK(first_words("connect to 127.0.0.1:29500 failed") == "connect to 127.0.0.1:N failed");
  CHECK(first_words("SocketImpl(fd=14, addr=x)") == "SocketImpl(fd=N, addr=x)");
  CHECK(first_words("\n  \n padded  ") == "padded");
  CHECK(first_words("").empty());
  CHECK(first_words(std::string(1000, 'x')).size() == 300);
}
