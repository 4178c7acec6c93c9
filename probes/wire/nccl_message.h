// SPDX-License-Identifier: Apache-2.0
//
// The conversation between collwatchd and one collwatch-probe-nccl, and what agents tell each other
// about it: same carrier and grammar as message.h, other messages. One worker is one probe: it is
// prepared, runs one to three rungs of the ladder (this node's GPUs, one GPU a node, all GPUs), and
// is gone. Plain structs and the codec; pure, fuzzed, never throws. docs/nccl.md has the whole.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "probes/model/result.h"
#include "probes/model/vocabulary.h"
#include "probes/wire/message.h"

namespace collwatch::wire {

inline constexpr int kNcclWireVersion = 1;
inline constexpr std::size_t kNcclIdBytes = 128;
inline constexpr std::size_t kNcclIds = 2;     ///< of the rungs that span nodes: rail, all
inline constexpr int kMostNcclDevices = 1024;  ///< of one node

/// Whose GPUs form the communicator: this node's, one of each node, all of all nodes.
enum class Rung { local, rail, all };

// --- daemon -> worker -------------------------------------------------------------------------

/// First packet: load the library, look at the GPUs. Answered by NcclPrepared or NcclSkipped.
struct NcclPrepare {
  int v = kNcclWireVersion;
  std::string node;
  std::string library = "auto";  ///< a path, or auto
  std::string job_library;       ///< what a training process here has mapped; empty: none known
  std::int64_t job_pid = 0;      ///< that process; 0: none runs now
  bool beside_jobs = false;      ///< true: GPUs that others use are no reason to refuse
  int timeout_ms = 10000;
};

/// Make a communicator, run every collective in every size, take it down. An NcclReport each, up to
/// the first failure; then NcclDone. After a failure the worker ends by itself.
struct NcclRun {
  std::int64_t round = 0;
  Rung rung = Rung::local;
  int device = 0;      ///< rail: which of this node's GPUs takes part
  int first_rank = 0;  ///< of this node's GPUs
  int ranks = 0;       ///< in the whole communicator
  Blob id;             ///< NCCL's unique id; empty for local, where the worker makes its own
  int timeout_ms = 10000;
  std::vector<std::uint32_t> sizes;  ///< bytes of the larger buffer
};

struct NcclStop {};

// --- worker -> daemon -------------------------------------------------------------------------

/// Not run, and why: nothing is wrong with the fabric.
struct NcclSkipped {
  model::SkipReason reason = model::SkipReason::unavailable;
  std::string text;
};

struct NcclDevice {
  std::string bus;   ///< PCI bus id
  std::string name;  ///< of the product
  std::uint64_t free_bytes = 0;
  std::vector<std::string> troubles;  ///< sentences: ECC errors, throttled, a narrow link
};

struct NcclPrepared {
  std::string library;  ///< the path that was loaded
  std::string note;     ///< why not a better one; may be empty
  std::string nccl;     ///< 2.28.9
  std::string cuda;     ///< that it was built with: 13.0; empty: it does not say
  std::string driver;   ///< the CUDA version of the driver: 13.0
  std::vector<NcclDevice> devices;
  std::vector<Blob> ids;  ///< unique ids, if this node turns out to be rank 0: for rail and for all
};

/// Said before the step is entered: a hang is named by the last one.
struct NcclPhase {
  std::string scope;  ///< "rail allreduce of 4 bytes"
  model::Phase phase = model::Phase::device_init;
};

/// The end of one collective, or (phase other than collective) why there was none.
struct NcclReport {
  std::int64_t round = 0;
  Rung rung = Rung::local;
  model::Phase phase = model::Phase::collective;
  model::Collective collective = model::Collective::allreduce;
  std::uint32_t size_bytes = 0;
  int ranks = 0;
  model::Outcome outcome = model::Outcome::ok;
  model::Fingerprint fingerprint = model::Fingerprint::none;
  std::int64_t duration_us = 0;  ///< of the wall
  std::int64_t device_us = 0;    ///< between CUDA events around it
  std::string text;              ///< the library's own words on failure
};

/// That rung is over and taken down.
struct NcclDone {
  Rung rung = Rung::local;
};

/// The last line of a worker that cannot go on: an unusable request.
struct NcclError {
  std::string text;
};

using ToNccl = std::variant<NcclPrepare, NcclRun, NcclStop>;
using FromNccl =
    std::variant<NcclSkipped, NcclPrepared, NcclPhase, NcclReport, NcclDone, NcclError>;

std::string encode(const ToNccl& message);
std::string encode(const FromNccl& message);
model::Result<ToNccl> decode_to_nccl(std::string_view packet);
model::Result<FromNccl> decode_from_nccl(std::string_view packet);

// --- agent -> agents --------------------------------------------------------------------------

/// What a member brings to a meeting, as the blob that the meeting hands round.
struct NcclFacts {
  int v = kNcclWireVersion;
  std::string nccl, cuda, driver;
  int devices = 0;
  std::vector<Blob> ids;
};

Blob encode_facts(const NcclFacts& facts);
/// An Error for what no honest member of this version says.
model::Result<NcclFacts> decode_facts(const Blob& blob);

}  // namespace collwatch::wire

namespace collwatch::model {
template <>
struct Names<wire::Rung> {
  static constexpr auto value = std::to_array<std::string_view>({"local", "rail", "all"});
};
}  // namespace collwatch::model
