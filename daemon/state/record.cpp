// SPDX-License-Identifier: Apache-2.0
//
// See record.h.
#include "daemon/state/record.h"

#include <algorithm>

namespace collwatch::state {
namespace {

using model::Fingerprint;
using model::Kind;
using model::Outcome;
using model::Reason;
using model::VerdictState;

/// A reason that replaces a settled worker_crash must have stood for so many rounds: a respawning
/// worker looks like many things for a moment.
constexpr int kOtherReasonRounds = 3;

/// Failures that start after at least one round without any are a new event.
bool is_new_run(const Record& record, const attribute::Explanation& e) {
  return e.first_failed >= record.last_failed + 2;
}

void begin_run(Record& record, const Moment& now, const attribute::Explanation& e,
               const Limits& limits) {
  record.first_failed = e.first_failed;
  record.credited_until = std::max(record.credited_until, e.first_failed - 1);
  record.onset_seconds = now.seconds;
  record.episode_counted = false;
  record.other_reason_rounds = 0;
  if (record.raised_before) return;
  record.reason_known = false;
  record.confirmed = false;
  record.refine_until = std::max(now.round, e.first_failed) + limits.refine_rounds;
}

void add_score(Record& record, const attribute::Explanation& e, double page_score) {
  const double nats = std::min(e.round_score, page_score / 2);
  if (e.last_failed > record.credited_until) {
    // One round at a time, however many an observer tells of at once: what this agent did not see
    // happening (it is new, or was frozen) is no evidence of its own.
    record.sum += nats;
    ++record.evidence_rounds;
    record.credited_until = e.last_failed;
    record.last_credit = nats;
  } else if (nats > record.last_credit) {
    // More observers speak of the same round.
    record.sum += nats - record.last_credit;
    record.last_credit = nats;
  }
  record.sum = std::min(record.sum, 10 * page_score);
  record.peak = std::max(record.peak, record.sum);
}

bool may_refine(Record& record, const Moment& now, const attribute::Explanation& e) {
  if (now.round <= record.refine_until) return true;
  if (record.raised_before) return false;
  if (!record.reason_known) return true;
  // Still a suspect: the host may have died of what killed the worker. A pending worker fault is
  // the only thing that is held back from a page, so only it can be overtaken.
  const bool other =
      is_worker_fault(record.shown.reason) && e.reason_known && !is_worker_fault(e.reason);
  if (!other) record.other_reason_rounds = 0;
  if (other && now.round != record.other_reason_at) ++record.other_reason_rounds;
  record.other_reason_at = now.round;
  return record.other_reason_rounds >= kOtherReasonRounds;
}

}  // namespace

bool is_worker_fault(Reason reason) {
  return reason == Reason::worker_crash || reason == Reason::worker_stuck;
}

bool is_node_fault(Kind kind) {
  return kind == Kind::node || kind == Kind::node_egress || kind == Kind::node_ingress;
}

std::string subject(const attribute::Cause& cause) {
  if (is_node_fault(cause.kind)) return "node " + std::to_string(cause.a);
  if (cause.kind == Kind::self) return "self " + std::to_string(cause.a);
  if (cause.kind == Kind::partition) {
    std::string side = "partition";
    for (const attribute::Member m : cause.group) side += " " + std::to_string(m);
    return side;
  }
  const auto ends = std::minmax(cause.a, cause.b);
  return "link " + std::to_string(ends.first) + " " + std::to_string(ends.second);
}

Fingerprint fingerprint_of(Kind kind, Reason reason, bool reason_known, Outcome outcome) {
  if (kind == Kind::self) return Fingerprint::gloo_collective_timeout;
  if (reason_known) {
    // Whoever closes first on a one-way path looks like a lost peer; the reason knows better.
    if (reason == Reason::data_corruption) return Fingerprint::data_corruption;
    const bool lost =
        reason == Reason::agent_down || reason == Reason::refused || reason == Reason::worker_crash;
    return lost ? Fingerprint::gloo_peer_lost : Fingerprint::gloo_collective_timeout;
  }
  switch (outcome) {
    case Outcome::peer_lost:
    case Outcome::refused:
    case Outcome::worker_crash:
      return Fingerprint::gloo_peer_lost;
    case Outcome::init_failed:
    case Outcome::never_joined:
      return Fingerprint::gloo_init_failed;
    case Outcome::data_corruption:
      return Fingerprint::data_corruption;
    default:
      return Fingerprint::gloo_collective_timeout;
  }
}

void credit(Record& record, const Moment& now, const attribute::Explanation& e, double page_score,
            const Limits& limits) {
  if (is_new_run(record, e)) begin_run(record, now, e, limits);
  add_score(record, e, page_score);
  record.last_failed = std::max(record.last_failed, e.last_failed);
  record.last_explained = now.round;
  record.confirmed = record.confirmed || e.confirmed;
  record.observers.insert(e.observers.begin(), e.observers.end());
  if (e.view == model::View::direct) record.shown.view = model::View::direct;

  if (may_refine(record, now, e)) {
    record.cause = e.cause;
    record.shown.kind = e.cause.kind;
    // A stuck worker is killed and respawned by its own daemon: that it crashed is our own doing.
    const bool respawn = record.reason_known && record.shown.reason == Reason::worker_stuck &&
                         e.reason == Reason::worker_crash;
    if (!respawn && (e.reason_known || !record.reason_known)) record.shown.reason = e.reason;
    record.reason_known = record.reason_known || e.reason_known;
  }
  if (!record.raised_before) {
    record.shown.fingerprint =
        fingerprint_of(record.shown.kind, record.shown.reason, record.reason_known, e.outcome);
  }
}

void decay(Record& record, std::int64_t round, double page_score) {
  const std::int64_t completed = round - 1;
  const std::int64_t from = std::max(record.decayed_until, record.last_failed);
  if (completed > from) {
    record.sum -= static_cast<double>(completed - from) * page_score / 8;
    if (record.sum <= 0) {
      record.sum = 0;
      record.evidence_rounds = 0;
    }
  }
  record.decayed_until = std::max(completed, from);
}

model::Confidence confidence_of(const Record& record, double page_score) {
  using model::Confidence;
  if (record.from_claim) return Confidence::high;
  if (record.peak < page_score * 0.999) return Confidence::low;
  if (record.peak < page_score * 1.5 || !record.shown.ambiguous_with.empty()) {
    return Confidence::medium;
  }
  return Confidence::high;
}

}  // namespace collwatch::state
