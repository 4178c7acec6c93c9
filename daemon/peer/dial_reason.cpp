// SPDX-License-Identifier: Apache-2.0
//
// How far the dial came, as a reason.
#include "daemon/peer/dial_reason.h"

#include <cerrno>

namespace collwatch::peer {

namespace {

using model::Reason;

/// Who refuses while its witness still arrives is alive behind something that refuses for it.
Reason refusal(bool witness_heard) {
  return witness_heard ? Reason::refused : Reason::agent_down;
}

std::optional<Reason> from_connect(const CallResult& result, bool witness_heard) {
  if (result.timed_out) return Reason::unreachable;
  switch (result.sys_errno) {
    case ECONNREFUSED:
    case ECONNRESET:
      return refusal(witness_heard);
    case ETIMEDOUT:
    case EHOSTUNREACH:
    case EHOSTDOWN:
    case ENETUNREACH:
    case ENETDOWN:
      return Reason::unreachable;
    default:
      return std::nullopt;  // EMFILE, EADDRNOTAVAIL, EPERM, ...: ours
  }
}

/// The kernel accepted for it; did it speak?
std::optional<Reason> from_silence(const CallResult& result, bool witness_heard) {
  if (result.timed_out) return Reason::host_stall;
  switch (result.sys_errno) {
    case ECONNRESET:
    case EPIPE:
      return refusal(witness_heard);  // it died, or was cut off, while we talked
    case ETIMEDOUT:
    case EHOSTUNREACH:
    case EHOSTDOWN:
    case ENETUNREACH:
    case ENETDOWN:
      return Reason::unreachable;
    default:
      return std::nullopt;
  }
}

/// Its own daemon's word wins; else what its worker's state implies for an edge that fails. A
/// worker that runs as far as its daemon knows may be stuck, or the path may lose packets: the
/// daemon will say within a round.
std::optional<Reason> from_reply(const Identity& from) {
  if (from.worker_trouble) return *from.worker_trouble;
  switch (from.worker) {
    case model::WorkerState::absent:
    case model::WorkerState::starting:
      return Reason::worker_crash;
    case model::WorkerState::stuck:
      return Reason::worker_stuck;
    case model::WorkerState::running:
      return std::nullopt;
  }
  return std::nullopt;
}

}  // namespace

std::optional<model::Reason> dial_reason(const CallResult& result, bool witness_heard) {
  if (result.reply) return from_reply(result.reply->from);
  if (result.protocol_error) return std::nullopt;
  if (result.stage == CallStage::connecting) return from_connect(result, witness_heard);
  return from_silence(result, witness_heard);
}

}  // namespace collwatch::peer
