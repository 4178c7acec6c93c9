// SPDX-License-Identifier: Apache-2.0
//
// The round clock alone, and two to eight of them in simulated time with skews up to an hour,
// delays of 0 to 5 ms that differ by direction, and lost samples.
#include "daemon/peer/round_clock.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <random>
#include <vector>

#include "tests/support/catch.h"

using collwatch::peer::RoundClock;
using namespace std::chrono_literals;
using Steady = RoundClock::Steady;
using Wall = std::chrono::system_clock::time_point;

namespace {

constexpr auto kInterval = 1000ms;
const Steady kStart{1h};
const Wall kWall{std::chrono::milliseconds(1'700'000'000'250)};

class Fleet {
 public:
  Fleet(std::vector<std::int64_t> skews_ms, unsigned seed) : random_(seed) {
    for (const std::int64_t skew : skews_ms) {
      clocks.emplace_back(kInterval, kStart, kWall + std::chrono::milliseconds(skew));
    }
    delays_.assign(clocks.size(), std::vector<double>(clocks.size(), 0));
    for (auto& row : delays_) {
      for (double& delay : row) delay = uniform(0, 4);
    }
  }

  /// One round: everybody hears of everybody (but for lost samples), then adjusts, in any order.
  void round(double loss, bool stepping) {
    now += kInterval;
    for (std::size_t me = 0; me < clocks.size(); ++me) {
      for (std::size_t other = 0; other < clocks.size(); ++other) {
        if (me != other && uniform(0, 1) >= loss) exchange(me, other);
      }
    }
    std::vector<std::size_t> order(clocks.size());
    for (std::size_t i = 0; i < order.size(); ++i) order[i] = i;
    std::shuffle(order.begin(), order.end(), random_);
    for (const std::size_t i : order) clocks[i].adjust(now, stepping);
  }

  std::int64_t spread() const {
    std::int64_t low = clocks[0].round_ms(now);
    std::int64_t high = low;
    for (const auto& clock : clocks) {
      low = std::min(low, clock.round_ms(now));
      high = std::max(high, clock.round_ms(now));
    }
    return high - low;
  }

  double uniform(double low, double high) {
    return std::uniform_real_distribution<double>(low, high)(random_);
  }

  Steady now = kStart;
  std::vector<RoundClock> clocks;

 private:
  /// NTP's four timestamps, each read in whole milliseconds as the wire carries them.
  void exchange(std::size_t me, std::size_t other) {
    const auto there = delay(me, other);
    const auto back = delay(other, me);
    const auto t1 = static_cast<double>(clocks[me].round_ms(now - there - back));
    const auto t2 = static_cast<double>(clocks[other].round_ms(now - back));
    const auto t4 = static_cast<double>(clocks[me].round_ms(now));
    clocks[me].sample_offset(std::to_string(other), ((t2 - t1) + (t2 - t4)) / 2, t4 - t1, now);
  }

  std::chrono::microseconds delay(std::size_t from, std::size_t to) {
    const double ms = delays_[from][to] + uniform(0, 1);
    return std::chrono::microseconds(static_cast<std::int64_t>(ms * 1000));
  }

  std::mt19937 random_;
  std::vector<std::vector<double>> delays_;  ///< one way, ms
};

/// How far `moved_ms` shifts the phase within a round: whole rounds do not count.
std::int64_t phase_shift(std::int64_t moved_ms) {
  const std::int64_t rest = std::abs(moved_ms) % kInterval.count();
  return std::min(rest, kInterval.count() - rest);
}

std::vector<std::int64_t> random_skews(std::size_t members, std::mt19937& random) {
  std::uniform_int_distribution<std::int64_t> hour(-3'600'000, 3'600'000);
  std::vector<std::int64_t> skews(members);
  for (auto& skew : skews) skew = hour(random);
  return skews;
}

}  // namespace

TEST_CASE("the wall clock seeds the rounds") {
  const RoundClock clock(kInterval, kStart, kWall);
  CHECK(clock.round_ms(kStart) == 1'700'000'000'250);
  CHECK(clock.round_ms(kStart + 800ms) == 1'700'000'001'050);
  CHECK(clock.round(kStart) == 1'700'000'000);
  CHECK(clock.next_round_start(kStart) == kStart + 750ms);
  CHECK(clock.next_round_start(kStart + 750ms) == kStart + 1750ms);
  CHECK(clock.round(clock.next_round_start(kStart)) == 1'700'000'001);
  CHECK(clock.round(clock.next_round_start(kStart) - 1ms) == 1'700'000'000);
}

TEST_CASE("of two members each moves half the way") {
  RoundClock clock(kInterval, kStart, kWall);
  clock.sample_offset("b", 601, 0, kStart);  // one of it is the milliseconds' own uncertainty
  clock.adjust(kStart, true);
  CHECK(clock.median_offset_ms() == Approx(300));
  CHECK(clock.round_ms(kStart) == 1'700'000'000'550);
}

TEST_CASE("a running clock jumps whole rounds and slews the rest") {
  RoundClock clock(kInterval, kStart, kWall);
  const auto move = [&](double offset) {
    const std::int64_t before = clock.round_ms(kStart);
    clock.sample_offset("b", offset, 0, kStart);
    clock.sample_offset("c", offset, 0, kStart);
    clock.adjust(kStart, false);
    clock.forget("b");
    clock.forget("c");
    return clock.round_ms(kStart) - before;
  };
  CHECK(move(31) == 30);
  CHECK(move(-31) == -30);
  CHECK(move(400) == 50);
  CHECK(move(-999) == -50);
  CHECK(move(1002) == 1001);
  CHECK(move(3601) == 3050);
  CHECK(move(-3601) == -3050);
  CHECK(move(0.5) == 0);
}

TEST_CASE("an offset within its own uncertainty moves nothing") {
  RoundClock clock(kInterval, kStart, kWall);
  // A meeting that collected for 300 ms: the peer stamped its reply at the end, not in the middle.
  const std::int64_t peer_round_ms = clock.round_ms(kStart);
  clock.sample("b", peer_round_ms, kStart, 300ms);
  clock.adjust(kStart, true);
  CHECK(clock.round_ms(kStart) == peer_round_ms);
}

TEST_CASE("of two members neither chases where the other was") {
  RoundClock clock(kInterval, kStart, kWall);
  clock.sample_offset("b", 601, 0, kStart);
  clock.adjust(kStart, true);
  const std::int64_t half_way = clock.round_ms(kStart);
  for (int i = 0; i < 5; ++i) clock.adjust(kStart, true);
  CHECK(clock.round_ms(kStart) == half_way);
}

TEST_CASE("samples older than ten rounds do not count") {
  RoundClock clock(kInterval, kStart, kWall);
  clock.sample_offset("b", 601, 0, kStart);
  clock.adjust(kStart + 10 * kInterval, true);
  CHECK(clock.round_ms(kStart) == 1'700'000'000'250);
  clock.sample_offset("b", 601, 0, kStart);
  clock.adjust(kStart + 10 * kInterval - 1ms, true);
  CHECK(clock.round_ms(kStart) == 1'700'000'000'550);
}

TEST_CASE("of two samples that agree the sharper counts for two rounds") {
  RoundClock clock(kInterval, kStart, kWall);
  clock.sample_offset("b", 601, 0, kStart);
  clock.sample_offset("b", 700, 400, kStart + 1999ms);
  clock.adjust(kStart + 1999ms, true);
  CHECK(clock.median_offset_ms() == Approx(300));
}

TEST_CASE("after two rounds, or where the two contradict, the newer sample counts") {
  RoundClock clock(kInterval, kStart, kWall);
  clock.sample_offset("b", 601, 0, kStart);
  SECTION("after two rounds") {
    clock.sample_offset("b", 701, 400, kStart + 2000ms);
    clock.adjust(kStart + 2000ms, true);
    CHECK(clock.median_offset_ms() == Approx((701 - 201) / 2.0));
  }
  SECTION("contradicting") {
    clock.sample_offset("b", 9201, 400, kStart + 1ms);
    clock.adjust(kStart + 1ms, true);
    CHECK(clock.median_offset_ms() == Approx((9201 - 201) / 2.0));
  }
}

TEST_CASE("impossible samples are dropped") {
  RoundClock clock(kInterval, kStart, kWall);
  clock.sample_offset("b", 5000, -900, kStart);
  clock.sample_offset("c", std::nan(""), 0, kStart);
  clock.sample_offset("d", 5000, std::nan(""), kStart);
  clock.adjust(kStart, true);
  CHECK(clock.round_ms(kStart) == 1'700'000'000'250);
}

TEST_CASE("any fleet agrees within 30 rounds and stays agreed, in small phase steps") {
  std::mt19937 random(7);
  for (std::size_t members = 2; members <= 8; ++members) {
    for (const double loss : {0.0, 0.3}) {
      for (unsigned trial = 0; trial < 12; ++trial) {
        INFO(members << " members, loss " << loss << ", trial " << trial);
        Fleet fleet(random_skews(members, random), trial);
        std::int64_t widest_since = 0;
        for (int round = 0; round < 130; ++round) {
          std::vector<std::int64_t> before;
          for (const auto& clock : fleet.clocks) before.push_back(clock.round_ms(fleet.now));
          const std::int64_t spread_before = fleet.spread();
          fleet.round(loss, false);
          for (std::size_t i = 0; i < members; ++i) {
            const std::int64_t moved =
                fleet.clocks[i].round_ms(fleet.now) - before[i] - kInterval.count();
            REQUIRE(phase_shift(moved) <= 50);
          }
          // With lost samples each sees other medians at first; without, it only ever narrows.
          if (loss == 0) REQUIRE(fleet.spread() <= spread_before + 10);
          if (round >= 30) widest_since = std::max(widest_since, fleet.spread());
        }
        CHECK(widest_since <= 20);
      }
    }
  }
}

TEST_CASE("a fleet that starts together agrees within a few rounds") {
  std::mt19937 random(8);
  for (std::size_t members = 2; members <= 8; ++members) {
    INFO(members);
    Fleet fleet(random_skews(members, random), 1);
    for (int round = 0; round < 4; ++round) fleet.round(0, true);
    CHECK(fleet.spread() <= 20);
  }
}

TEST_CASE("agreed clocks do not run away together") {
  Fleet fleet({0, 0, 0, 0}, 3);
  for (int round = 0; round < 1000; ++round) fleet.round(0.1, false);
  const std::int64_t true_ms = 1'700'000'000'250 + 1000 * kInterval.count();
  for (const auto& clock : fleet.clocks) CHECK(std::abs(clock.round_ms(fleet.now) - true_ms) <= 20);
}

TEST_CASE("one mad clock does not move the others") {
  for (const std::int64_t skew : {-3'600'000, -700, 600, 30'500, 3'600'000}) {
    for (std::size_t members = 3; members <= 8; ++members) {
      INFO(members << " members, skew " << skew);
      std::vector<std::int64_t> skews(members, 0);
      skews.back() = skew;
      Fleet fleet(skews, 5);
      for (int round = 0; round < 30; ++round) fleet.round(0, false);
      const std::int64_t true_ms = 1'700'000'000'250 + 30 * kInterval.count();
      for (const auto& clock : fleet.clocks) {
        CHECK(std::abs(clock.round_ms(fleet.now) - true_ms) <= 20);
      }
    }
  }
}
