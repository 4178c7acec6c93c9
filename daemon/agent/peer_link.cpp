// SPDX-License-Identifier: Apache-2.0
//
// One edge's life: attempts, meetings, reports, and the dial that asks why.
#include "daemon/agent/peer_link.h"

#include <algorithm>
#include <utility>

#include "daemon/agent/route.h"
#include "daemon/schedule/schedule.h"

namespace collwatch::agent {

using base::Clock;
using base::Millis;
using model::Outcome;

namespace {

/// The payload that every exchange begins with; what is larger comes after it.
constexpr std::uint32_t kTokenBytes = 64;
/// How long our own worker may take to publish a Gloo address; beyond it the fault is ours.
constexpr Millis kPrepareDeadline{400};
/// A meeting: the lower side answers within 300 ms, plus the way there and back.
constexpr Millis kMeetDeadline{450};

Outcome outcome_of(const peer::CallResult& result) {
  if (result.reply) {
    const auto* refusal = std::get_if<peer::Refusal>(&result.reply->body);
    if (refusal == nullptr) return Outcome::error;
    switch (refusal->reason) {
      case peer::RefusalReason::build_mismatch:
      case peer::RefusalReason::config_mismatch:
      case peer::RefusalReason::unknown_member:
      case peer::RefusalReason::duplicate_name:
        return Outcome::mismatch;
      case peer::RefusalReason::no_worker:
        return Outcome::peer_lost;
      default:
        return Outcome::timeout;
    }
  }
  if (result.sys_errno == ECONNREFUSED) return Outcome::refused;
  if (result.stage == peer::CallStage::connecting) return Outcome::unreachable;
  return Outcome::timeout;
}

}  // namespace

PeerLink::PeerLink(PeerLinkSurroundings& surroundings, std::string peer)
    : around_(surroundings),
      peer_(std::move(peer)),
      starts_(around_.self < peer_),
      closed_since_(Clock::now()),
      round_began_(Clock::now()) {}

PeerLink::~PeerLink() {
  close();
}

void PeerLink::on_round(std::int64_t round, base::TimePoint now) {
  const base::TimePoint last_round_began = std::exchange(round_began_, now);
  const bool met = std::exchange(met_this_round_, false);
  if (left_ || state_ != State::closed || !around_.worker_running()) return;
  if (!joined_) {
    greet();
    return;
  }
  const auto failed_for = std::chrono::duration_cast<Millis>(now - closed_since_);
  const bool due = schedule::should_reconnect(failed_for, round, around_.pair(peer_));
  if (kept_apart_) {
    if (round % 5 == 0) greet();
    return;
  }
  if (!starts_) {
    if (due) attempt();
    return;
  }
  on_absent_edge(round, met, last_round_began, now, due);
}

/// The lower name can only wait to be called: a whole round in which nobody did is that round's
/// evidence, and a dial keeps the reason fresh. An edge that never was counts from the third round
/// after the peer came up, once a dial has asked why.
void PeerLink::on_absent_edge(std::int64_t round, bool met, base::TimePoint last_round_began,
                              base::TimePoint now, bool due) {
  const bool overdue =
      now - std::max(closed_since_, settled_at_) > around_.config.edge.interval * 3;
  if (!met && (history_.failing() || (overdue && asked_why_))) {
    history_.on_failure(round, history_.failing() ? *history_.latest() : Outcome::timeout,
                        last_round_began);
    around_.count(*history_.latest(), std::nullopt);
    around_.changed(false);
  }
  if (!due && !overdue) return;
  asked_why_ = true;
  dial_for_reason();
}

void PeerLink::attempt() {
  if (state_ != State::closed || !around_.worker_running()) return;
  const auto to = around_.address(peer_);
  if (!to) return;
  auto local = local_address_towards(around_.config, *to);
  if (!local) {
    // No route at all: the kernel's word, as good as an unanswered call.
    fail(Outcome::unreachable, local.error().text, Clock::now());
    return;
  }
  prepare(*local);
}

void PeerLink::prepare(const peer::Address& local) {
  around_.loop.cancel(deadline_);
  call_.reset();
  local_ = local;
  attempt_ = around_.next_number();
  state_ = State::preparing;
  wire::EdgePrepare message;
  message.peer = peer_;
  message.attempt = attempt_;
  message.rank = starts_ ? 0 : 1;
  message.local_address = local.host();
  message.timeout_ms = static_cast<int>(around_.config.edge.timeout.count());
  message.interval_ms = static_cast<int>(around_.config.edge.interval.count());
  if (!around_.to_worker(message)) {
    close();
    return;
  }
  deadline_ = around_.loop.after(stretched(kPrepareDeadline), [this] { close(); });
}

void PeerLink::on_prepared(const wire::EdgePrepared& message) {
  if (state_ != State::preparing || message.attempt != attempt_) return;
  around_.loop.cancel(deadline_);
  if (!starts_) {
    send_meet(local_, message.blob);
    return;
  }
  context_id_ = around_.self + "." + std::to_string(attempt_);
  peer::Reply reply{.from = around_.identity()};
  reply.body = peer::PairMet{context_id_, message.blob};
  if (respond_) std::exchange(respond_, nullptr)(reply);
  wire::EdgeConnect connect{peer_, attempt_, context_id_, std::exchange(peer_blob_, {})};
  if (!around_.to_worker(connect)) {
    close();
    return;
  }
  state_ = State::connecting;
  // The worker bounds connect and warm-up by twice the edge timeout and reports; this only catches
  // one that does not.
  const base::TimePoint began = Clock::now();
  deadline_ = around_.loop.after(stretched(around_.config.edge.timeout * 3), [this, began] {
    fail(Outcome::timeout, "connect took too long", began);
  });
}

void PeerLink::send_meet(const peer::Address& local, peer::Blob blob) {
  const auto to = around_.address(peer_);
  if (!to) {
    close();
    return;
  }
  peer::Request request = around_.request_to(peer_);
  request.body = peer::MeetPair{std::move(blob)};
  peer::Address bind_to = local;
  set_port(bind_to, 0);
  const base::TimePoint asked = Clock::now();
  call_ = peer::Call::start(
      around_.loop, *to, bind_to, around_.config.peers.token, std::move(request),
      stretched(kMeetDeadline),
      [this, asked](peer::CallResult result) { on_met(std::move(result), asked); });
}

void PeerLink::on_met(peer::CallResult result, base::TimePoint asked) {
  call_.reset();
  const base::TimePoint now = Clock::now();
  if (turned_away(result)) {
    around_.changed(false);
    return;
  }
  if (result.reply) {
    around_.met(result.reply->from, std::chrono::duration_cast<Millis>(now - asked));
    if (state_ != State::preparing) return;  // met() found a new incarnation and closed us
    if (auto* met = std::get_if<peer::PairMet>(&result.reply->body)) {
      wire::EdgeConnect connect{peer_, attempt_, met->context_id, std::move(met->blob)};
      if (!around_.to_worker(connect)) {
        close();
        return;
      }
      state_ = State::connecting;
      deadline_ = around_.loop.after(stretched(around_.config.edge.timeout * 3), [this, asked] {
        fail(Outcome::timeout, "connect took too long", asked);
      });
      return;
    }
    if (result.reply->from.worker_trouble) {
      history_.on_reason(*result.reply->from.worker_trouble, true);
    }
  }
  const bool heard = history_.inbound(now, around_.config.edge.interval) == attribute::Heard::heard;
  fail(outcome_of(result), result.text, asked);
  take_reason(result, heard);
}

void PeerLink::on_report(const wire::EdgeReport& report) {
  if (report.attempt != attempt_ || state_ == State::closed) return;
  const base::TimePoint now = Clock::now();
  if (report.outcome != Outcome::ok) {
    if (report.failed_bytes > kTokenBytes) failed_payload_ = report.failed_bytes;
    // A starter's exchange begins with the round; an answerer gives up one timeout after the token
    // was due.
    // A reset happened just now, whatever was heard earlier in this round.
    base::TimePoint began = starts_ ? round_began_ : now - around_.config.edge.timeout;
    if (report.outcome == Outcome::peer_lost) began = now;
    fail(report.outcome, report.text, began);
    if (report.outcome == Outcome::data_corruption) {
      history_.on_reason(model::Reason::data_corruption, true);
    } else if (report.outcome == Outcome::timeout && report.failed_bytes > kTokenBytes) {
      // The token passed in this very exchange. A dial that finds more than this overrules it.
      history_.on_reason(model::Reason::size_blackhole, false);
    }
    return;
  }
  const std::int64_t own = around_.round();
  if (report.phase == model::Phase::connect) {
    around_.loop.cancel(deadline_);
    state_ = State::open;
    asked_why_ = false;
    refusal_unsettled_ = false;
    joined_ = true;
    open_rounds_ = 0;
    // Where a large payload failed, a connection proves nothing until that size has passed.
    if (failed_payload_ != 0 && history_.failing()) return;
    history_.on_ok(own, now, std::nullopt);
    around_.changed(false);
    return;
  }
  if (failed_payload_ != 0 && report.payload_bytes >= failed_payload_) failed_payload_ = 0;
  if (failed_payload_ != 0 && history_.failing()) return;
  ++open_rounds_;
  const bool same_clock = report.round >= own - 1 && report.round <= own + 1;
  std::optional<double> round_trip;
  if (report.large_round_trip_us > 0) {
    large_trips_.on_trip(report.payload_bytes,
                         static_cast<double>(report.large_round_trip_us) / 1e6);
  }
  if (report.round_trip_us > 0) round_trip = static_cast<double>(report.round_trip_us) / 1e6;
  history_.on_ok(same_clock ? report.round : own, now, round_trip);
  around_.count(Outcome::ok, round_trip);
}

void PeerLink::fail(Outcome outcome, std::string /*text*/, base::TimePoint began) {
  const bool was_open = state_ == State::open;
  close();
  // A peer that nobody has seen yet is not lost but awaited (never_joined is the agent's to say),
  // and one that just came up gets a moment to settle: its worker may still be starting.
  if (!joined_ || (!was_open && !history_.failing() && Clock::now() < settled_at_)) return;
  const bool first = history_.on_failure(around_.round(), outcome, began);
  around_.count(outcome, std::nullopt);
  around_.failed(peer_);
  around_.changed(first);
  if (first) dial_for_reason();
}

void PeerLink::on_meet(const peer::Request& request, const peer::Address& local,
                       peer::Server::Responder respond) {
  const auto refuse = [&](peer::RefusalReason reason, std::string text) {
    peer::Reply reply{.from = around_.identity()};
    reply.body = peer::Refusal{reason, std::move(text)};
    respond(reply);
  };
  if (!starts_) return refuse(peer::RefusalReason::not_in_group, "the lower name hosts a meeting");
  if (left_) return refuse(peer::RefusalReason::shutting_down, "you said goodbye");
  if (!around_.worker_running()) {
    return refuse(peer::RefusalReason::no_worker, "no Gloo worker is running here");
  }
  if (const auto unusable = why_unusable(request.from)) {
    kept_apart_ = true;
    history_.forget();
    return refuse(unusable->reason, unusable->text);
  }
  if (respond_) {
    peer::Reply reply{.from = around_.identity()};
    reply.body = peer::Refusal{peer::RefusalReason::superseded, "a newer meeting came in"};
    std::exchange(respond_, nullptr)(reply);
  }
  met_this_round_ = true;
  kept_apart_ = false;
  joined_ = true;
  peer_blob_ = std::get<peer::MeetPair>(request.body).blob;
  respond_ = std::move(respond);
  prepare(local);
}

void PeerLink::on_incarnation(const std::string& incarnation) {
  joined_ = true;
  // A call or reply that crossed the peer's goodbye does not bring it back: whoever said `left`
  // only returns as somebody new.
  if (incarnation_ == incarnation) return;
  left_ = false;
  asked_why_ = false;
  const bool known = !incarnation_.empty();
  incarnation_ = incarnation;
  settled_at_ = Clock::now() + around_.config.edge.interval * 3;
  failed_payload_ = 0;
  large_trips_ = {};
  if (known && state_ != State::closed) close();
}

void PeerLink::on_left() {
  left_ = true;
  close();
  history_.forget();
}

void PeerLink::on_worker_lost() {
  failed_payload_ = 0;
  close();
  history_.forget();
}

void PeerLink::close() {
  around_.loop.cancel(deadline_);
  call_.reset();
  if (respond_) {
    peer::Reply reply{.from = around_.identity()};
    reply.body = peer::Refusal{peer::RefusalReason::timeout, "this meeting did not come about"};
    std::exchange(respond_, nullptr)(reply);
  }
  if (state_ == State::closed) return;
  state_ = State::closed;
  closed_since_ = Clock::now();
  around_.to_worker(wire::EdgeClose{peer_});
}

}  // namespace collwatch::agent
