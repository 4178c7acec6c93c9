// SPDX-License-Identifier: Apache-2.0
//
// Witness loss: silence before the first datagram is no loss, phase is no loss, missing ones are.
#include "daemon/agent/witness_loss.h"

#include "tests/support/catch.h"

using collwatch::agent::WitnessLoss;

TEST_CASE("nothing is lost before the first datagram") {
  WitnessLoss loss;
  for (int i = 0; i < 30; ++i) loss.tick(true);
  CHECK(loss.share() == 0);
  loss.on_heard();
  loss.tick(true);
  CHECK(loss.share() == 0);
}

TEST_CASE("two in one half round and none in the next is no loss") {
  WitnessLoss loss;
  for (int i = 0; i < 40; ++i) {
    if (i % 2 == 0) {
      loss.on_heard();
      loss.on_heard();
    }
    loss.tick(true);
  }
  CHECK(loss.share() == 0);
}

TEST_CASE("half of them missing is half lost, all of them is nearly all, and it passes") {
  WitnessLoss loss;
  for (int i = 0; i < 40; ++i) {
    if (i % 2 == 0) loss.on_heard();
    loss.tick(true);
  }
  CHECK(loss.share() == Approx(0.45).margin(0.06));
  for (int i = 0; i < 40; ++i) loss.tick(true);
  CHECK(loss.share() == Approx(0.975));
  for (int i = 0; i < 40; ++i) {
    loss.on_heard();
    loss.tick(true);
  }
  CHECK(loss.share() == 0);
}

TEST_CASE(
    "what is not due is not missing, and the moments before a fault are not held against a path") {
  WitnessLoss loss;
  for (int i = 0; i < 60; ++i) {
    loss.on_heard();
    loss.tick(true);
  }
  for (int i = 0; i < 3; ++i) loss.tick(true);  // it is dead, and nobody has noticed yet
  CHECK(loss.missing() == 2);
  loss.forget_recent();
  CHECK(loss.missing() == 0);
  for (int i = 0; i < 30; ++i) loss.tick(false);
  CHECK(loss.missing() == 0);
  CHECK(loss.due() < 10);
}
