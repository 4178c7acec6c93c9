// SPDX-License-Identifier: Apache-2.0
//
// The messages of the daemon-watcher conversation, field by field; json_fields.h does the rest.
// Pure, thread safe, never throws.
#include "probes/wire/watch_message.h"

#include "probes/wire/json_fields.h"

namespace collwatch::wire {

// Not in a nameless namespace: they are looked up by their arguments.

COLLWATCH_MESSAGE(WatchStart, "watch_start")
COLLWATCH_MESSAGE(WatchPlan, "watch_plan")
COLLWATCH_MESSAGE(FilePosition, "file_position")
COLLWATCH_MESSAGE(WatchStop, "watch_stop")
COLLWATCH_MESSAGE(WatchHello, "watch_hello")
COLLWATCH_MESSAGE(Finding, "finding")
COLLWATCH_MESSAGE(FileForgotten, "file_forgotten")
COLLWATCH_MESSAGE(WatchedJobs, "watched_jobs")
COLLWATCH_MESSAGE(Heartbeat, "heartbeat")

template <Is<WatchStart> M>
void fields(auto& f, M& m) {
  f("v", m.v, "node", m.node, "fingerprints", m.fingerprints);
}
template <Is<WatchGlob> M>
void fields(auto& f, M& m) {
  f("glob", m.glob, "bytes_per_second", m.bytes_per_second, "since_ms", m.since_ms);
}
template <Is<WatchPlan> M>
void fields(auto& f, M& m) {
  f("logs", m.logs, "kernel", m.kernel, "kernel_after", m.kernel_after, "shared_files",
    m.shared_files, "processes_ms", m.processes_ms, "bytes_per_second", m.bytes_per_second,
    "settled_ns", m.settled_ns, "ras_mode", m.ras_mode, "ras_host", m.ras_host, "ras_port",
    m.ras_port, "ras_left", m.ras_left);
}
template <Is<FilePosition> M>
void fields(auto& f, M& m) {
  f("path", m.path, "device", m.device, "inode", m.inode, "offset", m.offset, "line", m.line,
    "head_bytes", m.head_bytes, "head_hash", m.head_hash);
}
template <Is<WatchStop> M>
void fields(auto&, M&) {}
template <Is<WatchHello> M>
void fields(auto& f, M& m) {
  f("v", m.v, "build", m.build, "pid", m.pid);
}
template <Is<Finding> M>
void fields(auto& f, M& m) {
  f("fingerprint", m.fingerprint, "source", m.source, "role", m.role, "rank", m.rank, "host",
    m.host, "job", m.job, "file", m.file, "line", m.line, "text", m.text);
}
template <Is<FileForgotten> M>
void fields(auto& f, M& m) {
  f("device", m.device, "inode", m.inode);
}
template <Is<WatchedJob> M>
void fields(auto& f, M& m) {
  f("job", m.job, "ranks", m.ranks, "missing", m.missing, "processes", m.processes, "world_size",
    m.world_size, "backend", m.backend, "torch", m.torch, "nccl", m.nccl, "cuda", m.cuda, "stalled",
    m.stalled, "nccl_library", m.nccl_library, "nccl_pid", m.nccl_pid);
}
template <Is<WatchedJobs> M>
void fields(auto& f, M& m) {
  f("jobs", m.jobs, "driver", m.driver);
}
template <Is<WatchTrouble> M>
void fields(auto& f, M& m) {
  f("source", m.source, "text", m.text);
}
template <Is<Heartbeat> M>
void fields(auto& f, M& m) {
  f("bytes", m.bytes, "skipped", m.skipped, "lag", m.lag, "files", m.files, "waiting", m.waiting,
    "settled_ns", m.settled_ns, "repeats", m.repeats, "kernel_sequence", m.kernel_sequence,
    "troubles", m.troubles, "ras", m.ras, "ras_left", m.ras_left);
}

std::string encode(const ToWatcher& message) {
  return encode_any(message);
}
std::string encode(const FromWatcher& message) {
  return encode_any(message);
}

model::Result<ToWatcher> decode_to_watcher(std::string_view packet) {
  return decode_any<ToWatcher>(packet);
}
model::Result<FromWatcher> decode_from_watcher(std::string_view packet) {
  return decode_any<FromWatcher>(packet);
}

}  // namespace collwatch::wire
