// SPDX-License-Identifier: Apache-2.0
//
// A cookie is one peer's and one process's, and nobody can do without.
#include "daemon/agent/cookies.h"

#include "tests/support/catch.h"

using collwatch::agent::Cookies;

TEST_CASE("each peer has its own cookie, which no other process would have given") {
  const Cookies ours;
  CHECK(ours.for_peer("n1") != 0);
  CHECK(ours.for_peer("n1") == ours.for_peer("n1"));
  CHECK(ours.for_peer("n1") != ours.for_peer("n2"));
  CHECK(ours.for_peer("n1") != Cookies().for_peer("n1"));
  CHECK(ours.is_from("n1", ours.for_peer("n1")));
  CHECK_FALSE(ours.is_from("n1", ours.for_peer("n2")));
  CHECK_FALSE(ours.is_from("n1", 0));
}

TEST_CASE("what a peer gave is shown to it until it gives another") {
  Cookies ours;
  CHECK(ours.to_show("n1") == 0);
  ours.keep("n1", 7);
  ours.keep("n1", 0);  // said nothing
  CHECK(ours.to_show("n1") == 7);
  ours.keep("n1", 8);
  CHECK(ours.to_show("n1") == 8);
  ours.forget("n1");
  CHECK(ours.to_show("n1") == 0);
}
