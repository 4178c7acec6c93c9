// SPDX-License-Identifier: Apache-2.0
//
// The connection limits, which loopback alone cannot reach.
#include "daemon/peer/admission.h"

#include "tests/support/catch.h"

using collwatch::peer::Admission;

TEST_CASE("one remote host gets sixteen places and gives them back") {
  Admission admission;
  for (std::size_t i = 0; i < Admission::kMaxPerHost; ++i) CHECK(admission.enter("a", false));
  CHECK_FALSE(admission.enter("a", false));
  CHECK(admission.enter("b", false));
  admission.leave("a");
  CHECK(admission.enter("a", false));
  CHECK(admission.size() == Admission::kMaxPerHost + 1);
}

TEST_CASE("nobody gets in beyond the total") {
  Admission admission;
  for (std::size_t i = 0; i < Admission::kMaxConnections; ++i) {
    REQUIRE(admission.enter("host" + std::to_string(i / 10), false));
  }
  CHECK_FALSE(admission.enter("another", false));
  admission.leave("host0");
  CHECK(admission.enter("another", false));
}

TEST_CASE("this host's own agents get more, not everything") {
  Admission admission;
  for (std::size_t i = 0; i < Admission::kMaxFromOwnHost; ++i) {
    REQUIRE(admission.enter("127.0.0.1", true));
  }
  CHECK_FALSE(admission.enter("127.0.0.1", true));
  CHECK(admission.enter("b", false));
}
