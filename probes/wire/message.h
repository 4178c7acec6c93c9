// SPDX-License-Identifier: Apache-2.0
//
// The conversation between collwatchd and one worker over fd 3 (SOCK_SEQPACKET): one JSON object a
// packet, at most 64 KiB, described in docs/wire-protocol.md. Plain structs and the codec's two
// functions; pure, fuzzed, never throws. The daemon drives; the worker announces each phase before
// it enters it and never measures on the daemon's behalf what the daemon can measure itself.
//
// JSON form: {"type": "<snake_case struct name>", ...fields with these names}. Blobs (Gloo address
// bytes) are hex strings. Unknown keys are ignored; unknown types, missing fields and wrong types
// are protocol errors. Durations: milliseconds or microseconds, the unit is in the field's name.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "probes/model/result.h"
#include "probes/model/vocabulary.h"

namespace collwatch::wire {

inline constexpr int kProtocolVersion = 1;
inline constexpr std::size_t kMaxPacketBytes = 64 * 1024;
inline constexpr int kWorkerFd = 3;

using Blob = std::vector<char>;

// --- daemon -> worker -------------------------------------------------------------------------

/// First packet: who this worker belongs to. Answered by Hello.
struct Start {
  int v = kProtocolVersion;
  std::string node;
};

/// Make a two-member context towards `peer` on `local_address` (numeric) and publish our Gloo
/// address; answered by EdgePrepared, or by EdgeReport with a failure. A newer attempt for the same
/// peer supersedes (destroys, silently) an older one, open or not.
struct EdgePrepare {
  std::string peer;
  std::uint64_t attempt = 0;
  int rank = 0;  ///< 0 = the lower name, which starts every exchange; 1 answers
  std::string local_address;
  int timeout_ms = 500;    ///< edge.timeout: for the connect and for each part of an exchange
  int interval_ms = 1000;  ///< an answerer waits at most interval + timeout for the next token
};

/// The peer's Gloo address from the meeting: connect now, then warm up with one exchange.
/// Answered by EdgeReport{phase=connect}: ok means the edge is open.
struct EdgeConnect {
  std::string peer;
  std::uint64_t attempt = 0;
  std::string context_id;
  Blob blob;
};

/// Close without any report; `peer` empty means all edges and the group.
struct EdgeClose {
  std::string peer;
};

/// One large payload of this round: which edge, how many bytes.
struct LargePayload {
  std::string peer;
  std::uint32_t bytes = 0;
};

/// Tick: acknowledged at once by RoundAck from the control thread (a worker that does not
/// acknowledge is stuck); every open edge of rank 0 starts its exchange (64 B, then its large
/// payload if one is listed). The outcome of each comes as EdgeReport{phase=collective}.
struct Round {
  std::int64_t number = 0;
  int timeout_ms = 500;
  std::vector<LargePayload> large;
};

/// As EdgePrepare, for the one m-member group context. `rank` within `size`, 2 to 12 members.
struct GroupPrepare {
  std::uint64_t attempt = 0;
  int rank = 0;
  int size = 0;
  std::string local_address;
  int timeout_ms = 3000;
};

/// All members' Gloo addresses, by rank (our own slot may be empty).
struct GroupConnect {
  std::uint64_t attempt = 0;
  std::string context_id;
  std::vector<Blob> blobs;
};

struct CollectiveStep {
  model::Collective collective = model::Collective::barrier;
  std::uint32_t size_bytes = 4;  ///< per rank; barrier ignores it
};

/// Run these in order on the group context; a CollectiveReport each, stopping at the first failure
/// (the context is then destroyed at once). After wrong values the run goes on without reports to
/// its end, where GroupAccusations and the failure follow.
struct GroupRun {
  std::uint64_t attempt = 0;
  std::int64_t round = 0;
  int timeout_ms = 3000;
  std::vector<CollectiveStep> steps;
};

struct GroupClose {};

/// Close everything quietly and exit 0.
struct Stop {};

// --- worker -> daemon -------------------------------------------------------------------------

struct Hello {
  int v = kProtocolVersion;
  std::string backend;  ///< "gloo"
  std::string build;    ///< identifies a wire-compatible Gloo build, e.g. "gloo-0.5.0/136"
  std::int64_t pid = 0;
};

struct PhaseEntered {
  std::string scope;  ///< "edge:<peer>" or "group"
  model::Phase phase = model::Phase::device_init;
};

struct EdgePrepared {
  std::string peer;
  std::uint64_t attempt = 0;
  Blob blob;
};

/// Which half of an exchange did not complete: `send` when what we sent was not taken or not
/// acknowledged, `recv` when what the peer owed did not come, `none` when it is ok or cannot be
/// said.
enum class Half { none, send, recv };

/// One edge, one outcome. From a starter once per round; from an answerer once per token answered;
/// from either at once on the first failure, after the context has been destroyed.
struct EdgeReport {
  std::string peer;
  std::uint64_t attempt = 0;
  model::Phase phase = model::Phase::collective;
  std::int64_t round = 0;  ///< the starter's round, carried in the token; 0 in phase connect
  model::Outcome outcome = model::Outcome::ok;
  Half half = Half::none;
  std::uint32_t payload_bytes = 0;  ///< the largest payload that was tried
  std::uint32_t failed_bytes = 0;   ///< the payload that failed, 0 when ok
  /// Of the 64 B exchange, 0 when unknown: token to reply at the starter, reply to go at the
  /// answerer.
  std::int64_t round_trip_us = 0;
  /// Of the large payload: from our first byte to the peer's word that it arrived intact.
  std::int64_t large_round_trip_us = 0;
  std::string text;  ///< the library's own words on failure
};

struct GroupPrepared {
  std::uint64_t attempt = 0;
  Blob blob;
};

/// The group's connect (phase=connect) or one collective (phase=collective).
struct CollectiveReport {
  std::uint64_t attempt = 0;
  std::int64_t round = 0;
  model::Phase phase = model::Phase::collective;
  model::Collective collective = model::Collective::barrier;
  std::uint32_t size_bytes = 0;
  model::Outcome outcome = model::Outcome::ok;
  std::int64_t duration_us = 0;
  std::int64_t wait_us = 0;  ///< time this rank spent waiting for others (stragglers, later)
  std::string text;
};

/// At the end of a run in which somebody got wrong values, before its last report: by rank, whose
/// blocks that member got wrong (bit r: rank r's), as each member says itself.
struct GroupAccusations {
  std::uint64_t attempt = 0;
  std::int64_t round = 0;
  std::vector<std::uint32_t> wrong_from;
};

struct RoundAck {
  std::int64_t number = 0;
  /// How late the control thread ran its own 50 ms timer, worst since the last ack.
  std::int64_t late_us = 0;
};

/// The last line of a dying worker (terminate handler, unusable request).
struct WorkerError {
  std::string text;
};

using ToWorker = std::variant<Start, EdgePrepare, EdgeConnect, EdgeClose, Round, GroupPrepare,
                              GroupConnect, GroupRun, GroupClose, Stop>;
using FromWorker = std::variant<Hello, PhaseEntered, EdgePrepared, EdgeReport, GroupPrepared,
                                CollectiveReport, GroupAccusations, RoundAck, WorkerError>;

std::string encode(const ToWorker& message);
std::string encode(const FromWorker& message);
model::Result<ToWorker> decode_to_worker(std::string_view packet);
model::Result<FromWorker> decode_from_worker(std::string_view packet);

}  // namespace collwatch::wire

namespace collwatch::model {
template <>
struct Names<wire::Half> {
  static constexpr auto value = std::to_array<std::string_view>({"none", "send", "recv"});
};
}  // namespace collwatch::model
