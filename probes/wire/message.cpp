// SPDX-License-Identifier: Apache-2.0
//
// The messages of the daemon-worker conversation, field by field; json_fields.h does the rest.
// Pure, thread safe, never throws.
#include "probes/wire/message.h"

#include "probes/wire/json_fields.h"

namespace collwatch::wire {

// The fields of every message, in one place. Not in a nameless namespace: they are looked up by
// their arguments.

COLLWATCH_MESSAGE(Start, "start")
COLLWATCH_MESSAGE(EdgePrepare, "edge_prepare")
COLLWATCH_MESSAGE(EdgeConnect, "edge_connect")
COLLWATCH_MESSAGE(EdgeClose, "edge_close")
COLLWATCH_MESSAGE(Round, "round")
COLLWATCH_MESSAGE(GroupPrepare, "group_prepare")
COLLWATCH_MESSAGE(GroupConnect, "group_connect")
COLLWATCH_MESSAGE(GroupRun, "group_run")
COLLWATCH_MESSAGE(GroupClose, "group_close")
COLLWATCH_MESSAGE(Stop, "stop")
COLLWATCH_MESSAGE(Hello, "hello")
COLLWATCH_MESSAGE(PhaseEntered, "phase_entered")
COLLWATCH_MESSAGE(EdgePrepared, "edge_prepared")
COLLWATCH_MESSAGE(EdgeReport, "edge_report")
COLLWATCH_MESSAGE(GroupPrepared, "group_prepared")
COLLWATCH_MESSAGE(CollectiveReport, "collective_report")
COLLWATCH_MESSAGE(GroupAccusations, "group_accusations")
COLLWATCH_MESSAGE(RoundAck, "round_ack")
COLLWATCH_MESSAGE(WorkerError, "worker_error")

template <Is<Start> M>
void fields(auto& f, M& m) {
  f("v", m.v, "node", m.node);
}
template <Is<EdgePrepare> M>
void fields(auto& f, M& m) {
  f("peer", m.peer, "attempt", m.attempt, "rank", m.rank, "local_address", m.local_address,
    "timeout_ms", m.timeout_ms, "interval_ms", m.interval_ms);
}
template <Is<EdgeConnect> M>
void fields(auto& f, M& m) {
  f("peer", m.peer, "attempt", m.attempt, "context_id", m.context_id, "blob", m.blob);
}
template <Is<EdgeClose> M>
void fields(auto& f, M& m) {
  f("peer", m.peer);
}
template <Is<LargePayload> M>
void fields(auto& f, M& m) {
  f("peer", m.peer, "bytes", m.bytes);
}
template <Is<Round> M>
void fields(auto& f, M& m) {
  f("number", m.number, "timeout_ms", m.timeout_ms, "large", m.large);
}
template <Is<GroupPrepare> M>
void fields(auto& f, M& m) {
  f("attempt", m.attempt, "rank", m.rank, "size", m.size, "local_address", m.local_address,
    "timeout_ms", m.timeout_ms);
}
template <Is<GroupConnect> M>
void fields(auto& f, M& m) {
  f("attempt", m.attempt, "context_id", m.context_id, "blobs", m.blobs);
}
template <Is<CollectiveStep> M>
void fields(auto& f, M& m) {
  f("collective", m.collective, "size_bytes", m.size_bytes);
}
template <Is<GroupRun> M>
void fields(auto& f, M& m) {
  f("attempt", m.attempt, "round", m.round, "timeout_ms", m.timeout_ms, "steps", m.steps);
}
template <Is<GroupClose> M>
void fields(auto&, M&) {}
template <Is<Stop> M>
void fields(auto&, M&) {}
template <Is<Hello> M>
void fields(auto& f, M& m) {
  f("v", m.v, "backend", m.backend, "build", m.build, "pid", m.pid);
}
template <Is<PhaseEntered> M>
void fields(auto& f, M& m) {
  f("scope", m.scope, "phase", m.phase);
}
template <Is<EdgePrepared> M>
void fields(auto& f, M& m) {
  f("peer", m.peer, "attempt", m.attempt, "blob", m.blob);
}
template <Is<EdgeReport> M>
void fields(auto& f, M& m) {
  f("peer", m.peer, "attempt", m.attempt, "phase", m.phase, "round", m.round, "outcome", m.outcome,
    "half", m.half, "payload_bytes", m.payload_bytes, "failed_bytes", m.failed_bytes,
    "round_trip_us", m.round_trip_us, "large_round_trip_us", m.large_round_trip_us, "text", m.text);
}
template <Is<GroupPrepared> M>
void fields(auto& f, M& m) {
  f("attempt", m.attempt, "blob", m.blob);
}
template <Is<CollectiveReport> M>
void fields(auto& f, M& m) {
  f("attempt", m.attempt, "round", m.round, "phase", m.phase, "collective", m.collective,
    "size_bytes", m.size_bytes, "outcome", m.outcome, "duration_us", m.duration_us, "wait_us",
    m.wait_us, "text", m.text);
}
template <Is<GroupAccusations> M>
void fields(auto& f, M& m) {
  f("attempt", m.attempt, "round", m.round, "wrong_from", m.wrong_from);
}
template <Is<RoundAck> M>
void fields(auto& f, M& m) {
  f("number", m.number, "late_us", m.late_us);
}
template <Is<WorkerError> M>
void fields(auto& f, M& m) {
  f("text", m.text);
}

std::string encode(const ToWorker& message) {
  return encode_any(message);
}
std::string encode(const FromWorker& message) {
  return encode_any(message);
}

model::Result<ToWorker> decode_to_worker(std::string_view packet) {
  return decode_any<ToWorker>(packet);
}
model::Result<FromWorker> decode_from_worker(std::string_view packet) {
  return decode_any<FromWorker>(packet);
}

}  // namespace collwatch::wire
