// SPDX-License-Identifier: Apache-2.0
//
// The asking half of a PeerLink: dials of the peer port that say who is there, why an edge failed,
// and whether the peer takes us at all.
#include "daemon/agent/peer_link.h"
#include "daemon/agent/route.h"
#include "daemon/peer/dial_reason.h"

namespace collwatch::agent {

using base::Clock;
using base::Millis;
using model::Outcome;

namespace {
constexpr Millis kDialDeadline{300};
}

Millis PeerLink::stretched(Millis duration) const {
  return Millis(
      static_cast<std::int64_t>(static_cast<double>(duration.count()) * around_.stretch()));
}

void PeerLink::greet() {
  if (dial_) return;
  const auto to = around_.address(peer_);
  if (!to) return;
  const base::TimePoint asked = Clock::now();
  dial_ = peer::Call::start(
      around_.loop, *to, bind_address(around_.config, *to), around_.config.peers.token,
      around_.request_to(peer_), stretched(kDialDeadline), [this, asked](peer::CallResult result) {
        dial_.reset();
        if (!result.reply || turned_away(result)) return;
        around_.met(result.reply->from, std::chrono::duration_cast<Millis>(Clock::now() - asked));
        if (!starts_ && state_ == State::closed) attempt();
      });
}

bool PeerLink::turned_away(const peer::CallResult& result) {
  if (!result.reply) return false;
  if (const std::string& answered = result.reply->from.name; answered != peer_) {
    // What this one says is about itself: crediting it to the peer would judge the wrong node.
    around_.misconfig(peer_, model::Reason::config_mismatch,
                      "at the address of " + peer_ + " answers " + answered +
                          ": the member list has a wrong address");
    kept_apart_ = true;
    close();
    history_.forget();
    return true;
  }
  const auto* refusal = std::get_if<peer::Refusal>(&result.reply->body);
  const auto refused_for = [refusal](peer::RefusalReason reason) {
    return refusal != nullptr && refusal->reason == reason;
  };
  kept_apart_ = refused_for(peer::RefusalReason::unknown_member) ||
                refused_for(peer::RefusalReason::duplicate_name) ||
                refused_for(peer::RefusalReason::build_mismatch) ||
                refused_for(peer::RefusalReason::config_mismatch) ||
                why_unusable(result.reply->from).has_value();
  if (!kept_apart_) return false;
  // It is there, and says what it goes by. Different lists or builds are configuration (stale_view,
  // misconfig), never evidence.
  around_.met(result.reply->from, std::nullopt);
  close();
  history_.forget();
  return true;
}

void PeerLink::take_reason(const peer::CallResult& result, bool heard) {
  const auto reason = peer::dial_reason(result, heard);
  if (!reason) return;
  if (*reason == model::Reason::agent_down || *reason == model::Reason::refused) {
    refusal_unsettled_ = true;
    settle_reason(Clock::now());
    return;
  }
  refusal_unsettled_ = false;
  history_.on_reason(*reason, false);
}

void PeerLink::settle_reason(base::TimePoint now) {
  if (!refusal_unsettled_ || !history_.failing()) return;
  const attribute::Heard heard = history_.inbound(now, around_.config.edge.interval);
  if (heard == attribute::Heard::unknown) return;
  refusal_unsettled_ = false;
  history_.on_reason(
      heard == attribute::Heard::heard ? model::Reason::refused : model::Reason::agent_down, false);
}

void PeerLink::dial_for_reason() {
  const auto to = around_.address(peer_);
  if (!to || dial_) return;
  const base::TimePoint asked = Clock::now();
  dial_ = peer::Call::start(
      around_.loop, *to, bind_address(around_.config, *to), around_.config.peers.token,
      around_.request_to(peer_), stretched(kDialDeadline), [this, asked](peer::CallResult result) {
        dial_.reset();
        const base::TimePoint now = Clock::now();
        const bool heard =
            history_.inbound(now, around_.config.edge.interval) == attribute::Heard::heard;
        if (turned_away(result)) {
          around_.changed(false);
          return;
        }
        take_reason(result, heard);
        if (result.reply) {
          if (result.reply->from.worker_trouble) {
            history_.on_reason(*result.reply->from.worker_trouble, true);
          }
          around_.met(result.reply->from, std::chrono::duration_cast<Millis>(now - asked));
        }
        around_.changed(false);
      });
}

std::optional<peer::Refusal> PeerLink::why_unusable(const peer::Identity& other) const {
  const std::string ours = around_.build();
  if (!ours.empty() && !other.build.empty() && ours != other.build) {
    return peer::Refusal{peer::RefusalReason::build_mismatch,
                         "Gloo builds differ: " + ours + " here, " + other.build + " there"};
  }
  const std::int64_t interval = around_.config.edge.interval.count();
  if (other.interval_ms != 0 && other.interval_ms != interval) {
    return peer::Refusal{peer::RefusalReason::config_mismatch,
                         "probes.edge.interval differs: " + std::to_string(interval) +
                             " ms here, " + std::to_string(other.interval_ms) + " ms there"};
  }
  return std::nullopt;
}

}  // namespace collwatch::agent
