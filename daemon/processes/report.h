// SPDX-License-Identifier: Apache-2.0
//
// What a look at the training processes of this host found: the ranks, their jobs, what is wrong
// with them and by which evidence. Plain values; scan() makes one from the previous one, `collwatch
// inspect` prints it, the daemon publishes it. Nothing here was asked of the processes themselves.
#pragma once

#include <chrono>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "probes/model/vocabulary.h"

namespace collwatch::processes {

using TimePoint = std::chrono::steady_clock::time_point;

/// The backend that carries a rank's collectives, as far as it can be seen from outside.
enum class Backend { unknown, gloo, nccl };

/// Between two looks. unknown: only one look yet, or nothing that could move can be seen.
enum class Progress { unknown, moving, stalled };

/// Who a process is in its job. What is not known is empty.
struct Identity {
  std::optional<int> rank, world_size;
  std::optional<int> local_rank, local_world_size;
  std::optional<int> node;  ///< GROUP_RANK, SLURM_NODEID: which node of the job this is
  std::optional<int> restart;
  /// The environment says that ranks run on other hosts too; nothing where it does not say.
  std::optional<bool> spans_hosts;
  std::string job;      ///< "slurm:4711", "torchrun:run-17", "store:10.0.0.1:29500", ...
  std::string told_by;  ///< the variables that say it: "RANK", "SLURM_PROCID"
  std::string master;   ///< MASTER_ADDR
  int master_port = 0;
};

struct Library {
  std::string name;     ///< torch, gloo, nccl, mpi
  std::string path;     ///< as the process sees it
  std::string version;  ///< read from files, empty where none says it
};

/// Established TCP connections of a rank to one other host, taken together.
struct Connections {
  enum class Kind {
    ranks,  ///< both ends on ports that a system picks, or the other end is a rank here
    store,  ///< MASTER_PORT at one of its ends
    other
  };
  Kind kind = Kind::other;
  std::string peer;       ///< the other end's address
  std::string interface;  ///< empty where it is not known
  bool here = false;      ///< the other end is in the same network namespace
  int count = 0;
  /// Since the previous look; nothing where the kernel's counters cannot be read from here.
  std::optional<std::uint64_t> bytes;
};

/// A file's name as a process sees it, and as we can open it.
struct Place {
  std::string root;   ///< "/proc/17/root", or "/proc/17/cwd" of a relative name
  std::string path;   ///< below it
  std::string shown;  ///< the name under which we, and who reads what we say, find it
};

struct DumpFile {
  std::string path;  ///< Place::shown
  std::uint64_t bytes = 0;
  double age_seconds = 0;
  bool before_process = false;  ///< of an earlier run: this process had not begun
  bool of_user = false;         ///< belongs to the user of the process
};

/// Where a rank's Flight Recorder writes, as its environment or PyTorch's default says, and what is
/// there now.
struct FlightFiles {
  std::optional<unsigned> user;  ///< whose the files should be
  std::vector<Place> dump_places;
  std::vector<DumpFile> dumps;      ///< regular files, of dump_places
  std::optional<Place> pipe_place;  ///< one is configured
  std::string pipe_problem;         ///< why that one cannot be used; empty: it can
};

struct Process {
  int pid = 0;
  int parent = 0;
  int inner_pid = 0;  ///< inside its container; the same as pid without one
  std::uint64_t start_ticks = 0;
  double age_seconds = 0;
  char state = '?';          ///< R, S, D, T, Z as the kernel says it
  std::string wait_channel;  ///< where in the kernel a process in state D waits, if told
  std::string name;
  std::string program;  ///< "train.py", never its arguments

  Identity identity;
  bool container = false;    ///< sees other processes or other files than we do
  bool own_network = false;  ///< in our network namespace: counters can be read

  std::vector<Library> libraries;
  std::string torch, nccl, cuda;  ///< versions
  Backend backend = Backend::unknown;
  std::string backend_why;
  bool names_threads = false;  ///< this PyTorch names its threads, so a missing name says something
  bool nccl_signs = false, gloo_signs = false;
  std::vector<std::string> gpus;  ///< device files that are held open for computing
  std::vector<std::string> rdma;

  std::string gloo_interface;  ///< GLOO_SOCKET_IFNAME
  FlightFiles flight;          ///< only where Surroundings asks for it
  std::vector<Connections> connections;
  std::vector<std::pair<std::string, int>> listeners;  ///< address and port, whichever
  std::vector<std::string> loopback_listeners;  ///< "127.0.1.1:40001" on ports a system picks

  double cpu_seconds = 0;
  std::optional<double> cpu_ratio;     ///< of one core, since the previous look
  std::optional<std::uint64_t> moved;  ///< bytes to and from ranks since the previous look
  Progress progress = Progress::unknown;
  std::string progress_why;
};

struct Finding {
  model::Fingerprint id = model::Fingerprint::none;
  /// low is a warning: it can be right and harmless. Only the others become active fingerprints.
  model::Confidence confidence = model::Confidence::low;
  std::string job;
  std::optional<int> rank;
  int pid = 0;  ///< 0: it has no process any more
  std::string text;
  std::vector<std::string> evidence;
  std::string fix;
};

/// The ranks of one job on this host.
struct Job {
  std::string job;
  std::vector<int> ranks;    ///< here, sorted
  std::vector<int> missing;  ///< of those that belong here
  int processes = 0;         ///< those of unknown rank too
  int world_size = 0;        ///< 0: not known
  Backend backend = Backend::unknown;
  std::string torch, nccl, cuda;
  bool stalled = false;  ///< every rank of it here is
};

/// What scan() carries from one look to the next.
struct Memory {
  struct Stranger {
    std::uint64_t start_ticks = 0;
    std::string name;
  };
  std::map<int, Stranger> strangers;  ///< by pid: known to be no rank
  struct Counted {
    std::uint64_t start_ticks = 0;
    double cpu_seconds = 0;
    std::map<std::uint64_t, std::uint64_t> bytes;  ///< by socket inode
  };
  std::map<int, Counted> counted;                    ///< by pid
  std::map<std::string, std::string> file_versions;  ///< by device, inode, time of change
};

struct ProcessReport {
  TimePoint at{};
  std::optional<double> window_seconds;  ///< since the previous look
  std::vector<Process> processes;        ///< ranks, by job and rank
  std::vector<Job> jobs;
  std::vector<Finding> findings;
  std::string driver;  ///< NVIDIA's version; empty where there is none
  int looked_at = 0;
  int unreadable = 0;  ///< other users' processes
  int blocked = 0;     ///< in state D at first sight: reading them could block us too
  bool cut_short = false;
  Memory memory;
};

}  // namespace collwatch::processes

template <>
struct collwatch::model::Names<collwatch::processes::Backend> {
  static constexpr auto value = std::to_array<std::string_view>({"unknown", "gloo", "nccl"});
};
template <>
struct collwatch::model::Names<collwatch::processes::Progress> {
  static constexpr auto value = std::to_array<std::string_view>({"unknown", "moving", "stalled"});
};
template <>
struct collwatch::model::Names<collwatch::processes::Connections::Kind> {
  static constexpr auto value = std::to_array<std::string_view>({"ranks", "store", "other"});
};
