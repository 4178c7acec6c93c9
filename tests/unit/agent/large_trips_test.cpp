// SPDX-License-Identifier: Apache-2.0
//
// Which edges are late: like with like, pauses forgiven, nothing said too early.
#include "daemon/agent/large_trips.h"

#include "tests/support/catch.h"

using collwatch::agent::LargeTrips;
using collwatch::agent::lateness;

TEST_CASE("nothing is known before three exchanges of one size") {
  LargeTrips trips;
  trips.on_trip(8193, 0.001);
  trips.on_trip(65536, 0.002);
  trips.on_trip(8193, 0.001);
  trips.on_trip(65536, 0.002);
  CHECK_FALSE(trips.recent());
  trips.on_trip(65536, 0.003);
  CHECK(trips.recent() == 0.002);
}

TEST_CASE("a pause delays one exchange, a slow path all of them") {
  LargeTrips trips;
  for (const double seconds : {0.001, 0.001, 0.001, 0.200, 0.300}) trips.on_trip(65536, seconds);
  CHECK(trips.recent() == 0.001);
  trips.on_trip(65536, 0.100);
  CHECK(trips.recent() == 0.100);
  CHECK(trips.best() == 0.001);
}

TEST_CASE("the largest size that has been seen often enough counts") {
  LargeTrips trips;
  for (int i = 0; i < 3; ++i) trips.on_trip(1025, 0.001);
  trips.on_trip(65536, 0.100);
  CHECK(trips.recent() == 0.001);
}

TEST_CASE("late is what is so by a factor and by an amount that a job feels") {
  CHECK(lateness(0.100, 0.001) == Approx(0.099));
  CHECK(lateness(0.010, 0.001) == 0);
  CHECK(lateness(0.100, 0.050) == 0);
}

TEST_CASE("the latest may be in doubt long before anything is found") {
  LargeTrips trips;
  CHECK_FALSE(trips.last_was_late());
  trips.on_trip(65536, 0.001);
  CHECK_FALSE(trips.last_was_late());
  trips.on_trip(65536, 0.100);
  CHECK(trips.last_was_late());
  trips.on_trip(1025, 0.001);  // another size, never seen
  CHECK_FALSE(trips.last_was_late());
  trips.on_trip(65536, 0.002);
  CHECK_FALSE(trips.last_was_late());
}
