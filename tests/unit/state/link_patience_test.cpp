// SPDX-License-Identifier: Apache-2.0
//
// A node is told at once, a link when it has been alone in being bad for a while.
#include "daemon/state/link_patience.h"

#include "tests/support/catch.h"

namespace {

using namespace collwatch;
using attribute::Impairment;
using model::Kind;
using model::Reason;

const Impairment kNode{{Kind::node, 2, 2, {}}, Reason::slow};
const Impairment kLink{{Kind::link, 1, 2, {}}, Reason::slow};

}  // namespace

TEST_CASE("a node passes at once") {
  state::LinkPatience patience;
  CHECK(patience.pass(100, {kNode}).size() == 1);
}

TEST_CASE("a link passes when it has been bad for ten rounds, one of them missing or not") {
  state::LinkPatience patience;
  for (std::int64_t round = 100; round < 110; ++round) {
    if (round != 105) CHECK(patience.pass(round, {kLink}).empty());
  }
  CHECK(patience.pass(110, {kLink}).size() == 1);
  CHECK(patience.pass(120, {kLink}).empty());  // it was well in between
}

TEST_CASE("the leftovers of an impaired node are no link") {
  state::LinkPatience patience;
  for (std::int64_t round = 100; round < 109; ++round) CHECK(patience.pass(round, {kLink}).empty());
  CHECK(patience.pass(109, {kNode, kLink}).size() == 1);
  for (std::int64_t round = 110; round < 140; ++round) CHECK(patience.pass(round, {kLink}).empty());
  CHECK(patience.pass(140, {kLink}).size() == 1);
}
