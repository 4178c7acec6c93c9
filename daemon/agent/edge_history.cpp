// SPDX-License-Identifier: Apache-2.0
//
// Bookkeeping of one edge; see the header for the rules.
#include "daemon/agent/edge_history.h"

#include <algorithm>

#include "daemon/attribute/explain.h"

namespace collwatch::agent {

using attribute::EdgeState;
using attribute::Heard;

void EdgeHistory::on_ok(std::int64_t round, Steady /*now*/, std::optional<double> round_trip) {
  if (state_ == EdgeState::failing) {
    failing_since_ = 0;
    failed_rounds_ = 0;
    ok_rounds_ = 0;
    failure_began_.reset();
    reason_.reset();
    reason_is_own_word_ = false;
    round_ = 0;
  }
  if (round > round_) ++ok_rounds_;
  state_ = EdgeState::ok;
  latest_ = model::Outcome::ok;
  ever_ok_ = true;
  round_ = std::max(round_, round);
  if (round_trip) round_trip_seconds_ = round_trip;
}

bool EdgeHistory::on_failure(std::int64_t round, model::Outcome outcome, Steady began) {
  const bool first = state_ != EdgeState::failing;
  if (first) {
    first_failure_ = outcome;
    failing_since_ = round;
    failed_rounds_ = 0;
    ok_rounds_ = 0;
    failure_began_ = began;
  }
  if (first || round > round_) ++failed_rounds_;
  state_ = EdgeState::failing;
  latest_ = outcome;
  round_ = first ? round : std::max(round_, round);
  return first;
}

void EdgeHistory::forget() {
  const auto heard = last_heard_;
  const bool ever_ok = ever_ok_;
  *this = EdgeHistory{};
  last_heard_ = heard;
  ever_ok_ = ever_ok;
}

void EdgeHistory::on_reason(model::Reason reason, bool own_word) {
  if (state_ != EdgeState::failing) return;
  if (reason_is_own_word_ && !own_word) return;
  reason_ = reason;
  reason_is_own_word_ = own_word;
}

void EdgeHistory::on_peer_failure(model::Outcome outcome) {
  if (state_ != EdgeState::failing || first_failure_ != model::Outcome::peer_lost) return;
  if (outcome == model::Outcome::timeout) first_failure_ = outcome;
}

Heard EdgeHistory::inbound(Steady now, Millis interval) const {
  const auto since = [now](const std::optional<Steady>& then) {
    return then ? std::chrono::duration_cast<Millis>(now - *then).count() : -1;
  };
  return attribute::hearing(since(last_heard_), since(failure_began_), interval.count());
}

attribute::EdgeWord EdgeHistory::word(attribute::Member peer, Steady now, Millis interval) const {
  attribute::EdgeWord word;
  word.peer = peer;
  word.state = state_;
  word.outcome = state_ == EdgeState::failing ? first_failure_ : model::Outcome::ok;
  word.round = round_;
  word.failing_since = failing_since_;
  word.failed_rounds = failed_rounds_;
  word.ok_rounds = ok_rounds_;
  word.inbound = inbound(now, interval);
  word.reason = reason_;
  return word;
}

}  // namespace collwatch::agent
