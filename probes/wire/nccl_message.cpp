// SPDX-License-Identifier: Apache-2.0
//
// The messages of the NCCL conversation, field by field; json_fields.h does the rest. Pure, thread
// safe, never throws.
#include "probes/wire/nccl_message.h"

#include <algorithm>
#include <string>
#include <string_view>
#include <utility>

#include "probes/wire/json_fields.h"

namespace collwatch::wire {

// Not in a nameless namespace: they are looked up by their arguments.

COLLWATCH_MESSAGE(NcclPrepare, "nccl_prepare")
COLLWATCH_MESSAGE(NcclRun, "nccl_run")
COLLWATCH_MESSAGE(NcclStop, "nccl_stop")
COLLWATCH_MESSAGE(NcclSkipped, "nccl_skipped")
COLLWATCH_MESSAGE(NcclPrepared, "nccl_prepared")
COLLWATCH_MESSAGE(NcclPhase, "nccl_phase")
COLLWATCH_MESSAGE(NcclReport, "nccl_report")
COLLWATCH_MESSAGE(NcclDone, "nccl_done")
COLLWATCH_MESSAGE(NcclError, "nccl_error")
COLLWATCH_MESSAGE(NcclFacts, "nccl_facts")

template <Is<NcclPrepare> M>
void fields(auto& f, M& m) {
  f("v", m.v, "node", m.node, "library", m.library, "job_library", m.job_library, "job_pid",
    m.job_pid, "beside_jobs", m.beside_jobs, "timeout_ms", m.timeout_ms);
}
template <Is<NcclRun> M>
void fields(auto& f, M& m) {
  f("round", m.round, "rung", m.rung, "device", m.device, "first_rank", m.first_rank, "ranks",
    m.ranks, "id", m.id, "timeout_ms", m.timeout_ms, "sizes", m.sizes);
}
template <Is<NcclStop> M>
void fields(auto&, M&) {}
template <Is<NcclSkipped> M>
void fields(auto& f, M& m) {
  f("reason", m.reason, "text", m.text);
}
template <Is<NcclDevice> M>
void fields(auto& f, M& m) {
  f("bus", m.bus, "name", m.name, "free_bytes", m.free_bytes, "troubles", m.troubles);
}
template <Is<NcclPrepared> M>
void fields(auto& f, M& m) {
  f("library", m.library, "note", m.note, "nccl", m.nccl, "cuda", m.cuda, "driver", m.driver,
    "devices", m.devices, "ids", m.ids);
}
template <Is<NcclPhase> M>
void fields(auto& f, M& m) {
  f("scope", m.scope, "phase", m.phase);
}
template <Is<NcclReport> M>
void fields(auto& f, M& m) {
  f("round", m.round, "rung", m.rung, "phase", m.phase, "collective", m.collective, "size_bytes",
    m.size_bytes, "ranks", m.ranks, "outcome", m.outcome, "fingerprint", m.fingerprint,
    "duration_us", m.duration_us, "device_us", m.device_us, "text", m.text);
}
template <Is<NcclDone> M>
void fields(auto& f, M& m) {
  f("rung", m.rung);
}
template <Is<NcclError> M>
void fields(auto& f, M& m) {
  f("text", m.text);
}
template <Is<NcclFacts> M>
void fields(auto& f, M& m) {
  f("v", m.v, "nccl", m.nccl, "cuda", m.cuda, "driver", m.driver, "devices", m.devices, "ids",
    m.ids);
}

std::string encode(const ToNccl& message) {
  return encode_any(message);
}
std::string encode(const FromNccl& message) {
  return encode_any(message);
}

model::Result<ToNccl> decode_to_nccl(std::string_view packet) {
  return decode_any<ToNccl>(packet);
}
model::Result<FromNccl> decode_from_nccl(std::string_view packet) {
  return decode_any<FromNccl>(packet);
}

namespace {

/// They are a member's word, and numbers of all members are added up.
std::string why_unusable(const NcclFacts& facts) {
  if (facts.v != kNcclWireVersion) {
    return "version " + std::to_string(facts.v) + " of the NCCL probe, ours is " +
           std::to_string(kNcclWireVersion);
  }
  if (facts.devices < 1 || facts.devices > kMostNcclDevices) {
    return std::to_string(facts.devices) + " GPUs are out of range";
  }
  const bool sound = facts.ids.size() == kNcclIds &&
                     std::all_of(facts.ids.begin(), facts.ids.end(),
                                 [](const Blob& id) { return id.size() == kNcclIdBytes; });
  return sound ? "" : "not two unique ids of 128 bytes";
}

}  // namespace

Blob encode_facts(const NcclFacts& facts) {
  const std::string text = encode_any(std::variant<NcclFacts>(facts));
  return {text.begin(), text.end()};
}

model::Result<NcclFacts> decode_facts(const Blob& blob) {
  auto decoded = decode_any<std::variant<NcclFacts>>(std::string_view(blob.data(), blob.size()));
  if (!decoded) return model::fail(model::wrap(decoded.error(), "facts of a member"));
  NcclFacts facts = std::get<NcclFacts>(std::move(*decoded));
  if (const std::string why = why_unusable(facts); !why.empty()) {
    return model::fail(model::ErrorCode::invalid_argument, "facts of a member: " + why);
  }
  return facts;
}

}  // namespace collwatch::wire
