// SPDX-License-Identifier: Apache-2.0
//
// The conversation between collwatchd and collwatch-watch, its watcher of logs, kernel and
// processes, over fd 3: one JSON object a packet, as in message.h, described in docs/watch.md. The
// daemon says what to watch and from where; the watcher tells findings, how far it has read, and
// once a second that it lives. Plain structs and the codec; pure, fuzzed, never throws.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "probes/model/result.h"
#include "probes/model/vocabulary.h"

namespace collwatch::wire {

inline constexpr int kWatchVersion = 3;
/// Held open at a time.
inline constexpr std::size_t kMostFollowedFiles = 512;
/// Of so many files it is known how far they were read, by the watcher and by the daemon.
inline constexpr std::size_t kMostKnownFiles = 4096;

// --- daemon -> watcher ------------------------------------------------------------------------

/// First packet. Answered by WatchHello once the catalogue is compiled.
struct WatchStart {
  int v = kWatchVersion;
  std::string node;
  std::string fingerprints;  ///< a file of the user's own, over the catalogue; empty: none
};

struct WatchGlob {
  std::string glob;  ///< %h not yet replaced
  std::uint64_t bytes_per_second = 0;
  /// Wall clock, when this glob was first watched: a file that was born later is read from its
  /// start, an older one from its end.
  std::int64_t since_ms = 0;
};

/// What to watch from now on; replaces the plan before. Positions to resume at come first.
struct WatchPlan {
  std::vector<WatchGlob> logs;
  bool kernel = false;
  std::int64_t kernel_after = -1;  ///< sequence number of the last record that was read; -1: none
  bool shared_files = true;        ///< false: leave network file systems alone, one has just hung
  std::int64_t processes_ms = 0;   ///< look at the training processes so often; 0: not at all
  std::uint64_t bytes_per_second = 0;  ///< of all logs together
  std::int64_t settled_ns = 0;         ///< as the last heartbeat of the watcher before had it
  std::string ras_mode = "never";      ///< never, safe, always
  std::string ras_host;                ///< numeric
  std::uint16_t ras_port = 0;
  std::vector<std::string> ras_left;  ///< jobs that must not be asked again, as told by heartbeats
};

/// How far a file has been read: told by the watcher when that changed, told back to the next one.
struct FilePosition {
  std::string path;
  std::uint64_t device = 0;
  std::uint64_t inode = 0;
  std::int64_t offset = 0;       ///< the next byte to be read
  std::int64_t line = 0;         ///< the number of the line that it is in; 0: not known
  std::uint32_t head_bytes = 0;  ///< the file's first so many bytes ...
  std::uint64_t head_hash = 0;   ///< ... which tell it from another one with its inode
};

struct WatchStop {};

// --- watcher -> daemon ------------------------------------------------------------------------

struct WatchHello {
  int v = kWatchVersion;
  std::string build;
  std::int64_t pid = 0;
};

/// One line (or record, or process) that means something.
struct Finding {
  model::Fingerprint fingerprint = model::Fingerprint::none;
  model::Source source = model::Source::log;
  std::string role;       ///< initiating, collateral, context: of the catalogue's pattern
  int rank = -1;          ///< -1: not known
  std::string host;       ///< as the line says; empty: this node
  std::string job;        ///< "slurm:4711"; empty: not known
  std::string file;       ///< "/var/log/train/0.log"; empty for what is in no file
  std::int64_t line = 0;  ///< 0: not known
  std::string text;
};

/// A training job with ranks on this node.
struct WatchedJob {
  std::string job;
  std::vector<int> ranks;    ///< that have a process here
  std::vector<int> missing;  ///< that belong here and have none
  int processes = 0;
  int world_size = 0;   ///< 0: not known
  std::string backend;  ///< gloo, nccl, unknown
  std::string torch, nccl, cuda;
  bool stalled = false;
  std::string nccl_library;   ///< that a process of it has mapped; empty: none
  std::int64_t nccl_pid = 0;  ///< that process
};

/// All jobs of now; replaces those told before.
struct WatchedJobs {
  std::vector<WatchedJob> jobs;
  std::string driver;  ///< NVIDIA's, of this host; empty where there is none
};

/// A followed file is gone, or is another one now.
struct FileForgotten {
  std::uint64_t device = 0;
  std::uint64_t inode = 0;
};

/// A source that does not work, or not fully, and why: a state, told with every heartbeat.
struct WatchTrouble {
  model::Source source = model::Source::log;
  std::string text;
};

/// Once a second, and after everything of that second. Counters since the watcher's start.
struct Heartbeat {
  std::uint64_t bytes = 0;      ///< of logs, read
  std::uint64_t skipped = 0;    ///< of logs, given up because they came faster than may be read
  std::uint64_t lag = 0;        ///< of logs, there but not read yet
  std::uint64_t files = 0;      ///< that are read
  std::uint64_t waiting = 0;    ///< files with something to read and no place to be read in
  std::int64_t settled_ns = 0;  ///< unknown files that were last changed by then are left alone
  std::uint64_t repeats = 0;    ///< findings that were left out: told a moment before
  std::int64_t kernel_sequence = -1;  ///< of the last record that was read
  std::vector<WatchTrouble> troubles;
  std::string ras;                    ///< why NCCL's RAS is not asked, or did not answer; or empty
  std::vector<std::string> ras_left;  ///< jobs that it must not be asked about again
};

using ToWatcher = std::variant<WatchStart, WatchPlan, FilePosition, WatchStop>;
using FromWatcher =
    std::variant<WatchHello, Finding, FilePosition, FileForgotten, WatchedJobs, Heartbeat>;

std::string encode(const ToWatcher& message);
std::string encode(const FromWatcher& message);
model::Result<ToWatcher> decode_to_watcher(std::string_view packet);
model::Result<FromWatcher> decode_from_watcher(std::string_view packet);

}  // namespace collwatch::wire
