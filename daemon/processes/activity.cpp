// SPDX-License-Identifier: Apache-2.0
//
// PyTorch names the threads of its process groups since 2.5; before, sockets and mapped files
// speak.
#include "daemon/processes/activity.h"

#include <algorithm>
#include <array>
#include <cstdio>
#include <string_view>

namespace collwatch::processes {
namespace {

bool starts(std::string_view text, std::string_view with) {
  return text.substr(0, with.size()) == with;
}

std::string percent(double ratio) {
  std::array<char, 32> text{};
  std::snprintf(text.data(), text.size(), "%.1f %%", ratio * 100);
  return text.data();
}

}  // namespace

bool maps_library(const Process& process, std::string_view name) {
  return std::any_of(process.libraries.begin(), process.libraries.end(),
                     [&](const Library& library) { return library.name == name; });
}

int connections_to_ranks(const Process& process) {
  int count = 0;
  for (const Connections& peer : process.connections) {
    if (peer.kind == Connections::Kind::ranks) count += peer.count;
  }
  return count;
}

void note_backend_signs(Process& process, const std::vector<std::string>& threads,
                        const std::vector<std::string>& files) {
  for (const std::string& thread : threads) {
    const bool gloo = starts(thread, "pt_gloo");
    const bool nccl = starts(thread, "pt_nccl");
    process.names_threads = process.names_threads || gloo || nccl;
    process.gloo_signs = process.gloo_signs || gloo;
    process.nccl_signs = process.nccl_signs || nccl || starts(thread, "NCCL ");
  }
  for (const std::string& file : files) {
    process.nccl_signs = process.nccl_signs || starts(file, "/dev/shm/nccl-");
  }
}

void judge_backend(Process& process) {
  const bool nccl_mapped = maps_library(process, "nccl") || maps_library(process, "rccl") ||
                           maps_library(process, "torch_cuda");
  const int connected = connections_to_ranks(process);
  const bool may_use_nccl = nccl_mapped && !process.gpus.empty();
  if (process.nccl_signs) {
    process.backend = Backend::nccl;
    process.backend_why = "threads, shared memory or status port of NCCL";
  } else if (may_use_nccl && !process.rdma.empty()) {
    process.backend = Backend::nccl;
    process.backend_why = "libnccl is mapped, a GPU and an InfiniBand device are open";
  } else if (process.gloo_signs) {
    process.backend = Backend::gloo;
    process.backend_why = "threads of Gloo, none of NCCL";
  } else if (connected > 0 && may_use_nccl) {
    process.backend_why = "this PyTorch does not name its threads: NCCL and Gloo look alike";
  } else if (connected > 0 && (maps_library(process, "torch") || maps_library(process, "gloo"))) {
    process.backend = Backend::gloo;
    process.backend_why =
        std::to_string(connected) + " connections to ranks, and NCCL cannot run in it";
  } else {
    process.backend_why = "no process group is to be seen";
  }
}

void judge_progress(Process& process, std::optional<double> window_seconds) {
  if (process.state == 'T' || process.state == 't') {
    process.progress = Progress::stalled;
    process.progress_why = "stopped by a signal or a debugger (state T)";
    return;
  }
  if (!window_seconds || *window_seconds < kShortestWindow || !process.cpu_ratio) return;
  const double rate = static_cast<double>(process.moved.value_or(0)) / *window_seconds;
  if (*process.cpu_ratio >= kIdleCpuRatio || rate >= kIdleBytesPerSecond) {
    process.progress = Progress::moving;
    process.progress_why = percent(*process.cpu_ratio) + " of a core";
    return;
  }
  process.progress = Progress::stalled;
  process.progress_why =
      percent(*process.cpu_ratio) + " of a core" +
      (process.moved ? ", " + std::to_string(*process.moved) + " bytes to and from ranks"
                     : std::string());
  if (process.state == 'D') {
    process.progress_why += ", waits in the kernel (state D";
    if (!process.wait_channel.empty()) process.progress_why += ", " + process.wait_channel;
    process.progress_why += ")";
  }
}

}  // namespace collwatch::processes
