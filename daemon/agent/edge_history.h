// SPDX-License-Identifier: Apache-2.0
//
// What this agent remembers of one of its own edges: the latest outcome, the present run of
// failures, and when the peer's witness was last heard. Turns into the EdgeWord that attribution
// and the peers get. Pure; the agent feeds it and passes time in.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>

#include "daemon/attribute/evidence.h"

namespace collwatch::agent {

class EdgeHistory {
 public:
  using Steady = std::chrono::steady_clock::time_point;
  using Millis = std::chrono::milliseconds;

  /// An exchange of `round` came back whole.
  void on_ok(std::int64_t round, Steady now, std::optional<double> round_trip_seconds);

  /// The edge failed in `round`; the failing exchange began at `began` (what is heard from the peer
  /// before that says nothing about the fault). True if this is the first failure of a run.
  bool on_failure(std::int64_t round, model::Outcome outcome, Steady began);

  /// Nothing can be said any more: our own worker is gone, or the peer left. Ends any run.
  void forget();

  /// A reason for the present run of failures, from a dial or from the accused's own word (which
  /// wins: `own_word`).
  void on_reason(model::Reason reason, bool own_word);

  /// The peer's own word about this edge's present run: its timeout is why the connection closed,
  /// so our "peer lost" was only its echo.
  void on_peer_failure(model::Outcome outcome);

  void on_heard(Steady now) { last_heard_ = now; }

  bool failing() const { return state_ == attribute::EdgeState::failing; }
  bool ever_ok() const { return ever_ok_; }
  std::int64_t failing_since() const { return failing_since_; }
  std::int64_t last_round() const { return round_; }
  std::optional<model::Outcome> latest() const { return latest_; }
  /// Of the present run of failures; ok when there is none.
  model::Outcome first_failure() const { return failing() ? first_failure_ : model::Outcome::ok; }
  std::optional<double> round_trip_seconds() const { return round_trip_seconds_; }
  std::optional<Steady> last_heard() const { return last_heard_; }
  std::optional<model::Reason> reason() const { return reason_; }

  /// Whether the peer's witness is heard now; the rule is attribute::hearing's.
  attribute::Heard inbound(Steady now, Millis interval) const;

  attribute::EdgeWord word(attribute::Member peer, Steady now, Millis interval) const;

 private:
  attribute::EdgeState state_ = attribute::EdgeState::unknown;
  std::optional<model::Outcome> latest_;
  model::Outcome first_failure_ = model::Outcome::ok;
  std::int64_t round_ = 0;
  std::int64_t failing_since_ = 0;
  std::int32_t failed_rounds_ = 0;
  std::int32_t ok_rounds_ = 0;
  bool ever_ok_ = false;
  std::optional<double> round_trip_seconds_;
  std::optional<Steady> last_heard_;
  std::optional<Steady> failure_began_;
  std::optional<model::Reason> reason_;
  bool reason_is_own_word_ = false;
};

}  // namespace collwatch::agent
