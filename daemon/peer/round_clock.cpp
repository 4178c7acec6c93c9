// SPDX-License-Identifier: Apache-2.0
//
// Why it settles: an offset is trusted only beyond the uncertainty that its own delay leaves (half
// the round trip either way), so no agent moves further than the truth demands, whatever the
// asymmetry of the path, and agreed clocks do not drift together. Of two members each sees the same
// difference; so a sample that was acted on is taken as answered, or with lost datagrams both would
// chase the other's old place.
#include "daemon/peer/round_clock.h"

#include <algorithm>
#include <cmath>
#include <vector>

namespace collwatch::peer {

namespace {

using Millis = RoundClock::Millis;

constexpr double kSlewMs = 50;         // less than what an answerer's patience allows
constexpr double kQuantisationMs = 1;  // both ends count whole milliseconds
constexpr int kFreshRounds = 10;       // older samples do not count
constexpr int kKeepRounds = 2;         // so long a better sample is kept against a worse, newer one

std::int64_t steady_ms(RoundClock::Steady time) {
  return std::chrono::floor<Millis>(time.time_since_epoch()).count();
}

std::int64_t floor_divide(std::int64_t number, std::int64_t by) {
  const std::int64_t quotient = number / by;
  return quotient * by > number ? quotient - 1 : quotient;
}

/// What is left of an offset once the uncertainty is taken off: never beyond the true one.
double certain_part(double offset_ms, double delay_ms) {
  const double margin = delay_ms / 2 + kQuantisationMs;
  if (offset_ms > margin) return offset_ms - margin;
  if (offset_ms < -margin) return offset_ms + margin;
  return 0;
}

/// How far one adjust() moves for a wish of `delta_ms`.
double correction(double delta_ms, double interval_ms, bool stepping) {
  if (stepping) return delta_ms;
  const double jump = std::trunc(delta_ms / interval_ms) * interval_ms;
  return jump + std::clamp(delta_ms - jump, -kSlewMs, kSlewMs);
}

double median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  const std::size_t middle = values.size() / 2;
  if (values.size() % 2 == 1) return values[middle];
  return (values[middle - 1] + values[middle]) / 2;
}

}  // namespace

RoundClock::RoundClock(Millis interval, Steady now, std::chrono::system_clock::time_point wall)
    : interval_(interval) {
  const auto wall_ms = std::chrono::floor<Millis>(wall.time_since_epoch()).count();
  offset_ms_ = wall_ms - steady_ms(now);
}

std::int64_t RoundClock::round_ms(Steady now) const {
  return steady_ms(now) + offset_ms_;
}

std::int64_t RoundClock::round(Steady now) const {
  return floor_divide(round_ms(now), interval_.count());
}

RoundClock::Steady RoundClock::next_round_start(Steady now) const {
  const std::int64_t start_ms = (round(now) + 1) * interval_.count();
  return Steady(Millis(start_ms - offset_ms_));
}

void RoundClock::sample(const std::string& peer, std::int64_t peer_round_ms, Steady now,
                        Millis round_trip) {
  const auto delay = static_cast<double>(round_trip.count());
  // What a peer says may be any number: the subtraction is one of doubles.
  const double difference = static_cast<double>(peer_round_ms) - static_cast<double>(round_ms(now));
  sample_offset(peer, difference + delay / 2, delay, now);
}

void RoundClock::sample_offset(const std::string& peer, double offset_ms, double delay_ms,
                               Steady now) {
  // A delay below zero means that one of the two clocks was moved in between.
  if (!std::isfinite(offset_ms) || !(delay_ms >= -2 * kQuantisationMs)) return;
  const Sample fresh{offset_ms, std::max(delay_ms, 0.0), now};
  const auto [known, is_new] = samples_.try_emplace(peer, fresh);
  if (is_new) return;
  const Sample& old = known->second;
  // The sharper of two that agree; where they do not, somebody's clock moved and the newer is true.
  const bool sharper = old.delay_ms < fresh.delay_ms;
  const bool agree = std::abs(old.offset_ms - fresh.offset_ms) <=
                     (old.delay_ms + fresh.delay_ms) / 2 + 2 * kQuantisationMs;
  if (sharper && agree && now - old.at < kKeepRounds * interval_) return;
  known->second = fresh;
}

void RoundClock::forget(const std::string& peer) {
  samples_.erase(peer);
}

void RoundClock::adjust(Steady now, bool stepping) {
  const auto interval_ms = static_cast<double>(interval_.count());
  std::erase_if(samples_,
                [&](const auto& s) { return now - s.second.at >= kFreshRounds * interval_; });
  std::vector<double> offsets{0.0};
  for (const auto& [peer, sample] : samples_) {
    offsets.push_back(certain_part(sample.offset_ms, sample.delay_ms));
  }
  median_ms_ = median(std::move(offsets));
  const auto moved = std::llround(correction(median_ms_, interval_ms, stepping));
  offset_ms_ += moved;
  for (auto& [peer, sample] : samples_) {
    sample.offset_ms -= static_cast<double>(moved);
    if (samples_.size() > 1) continue;
    sample.offset_ms -= correction(sample.offset_ms, interval_ms, stepping);
  }
}

}  // namespace collwatch::peer
