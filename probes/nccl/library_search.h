// SPDX-License-Identifier: Apache-2.0
//
// Which libnccl to load: the configured one, or (auto) the training job's own, so that what is
// probed is what the job would run, else the system's. To load a library is to run its code as the
// agent's user: the job's is taken only if nobody could have put it there who may not do that
// anyway. Reads the file system, loads nothing.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace collwatch::nccl_probe {

struct LibraryChoice {
  std::vector<std::string> names;  ///< to try in this order
  std::string note;                ///< why not the job's own; empty if it is, or if there is none
};

struct LibraryWish {
  std::string configured = "auto";
  std::string job_library;   ///< as the job's maps show it; empty: none known
  std::int64_t job_pid = 0;  ///< 0: it is gone
  std::string proc = "/proc";
};

LibraryChoice choose_library(const LibraryWish& wish);

/// Why code in that file may not be run as this user; empty: it may. Its owner is root or this
/// user, and nobody else can write to it or to the folder that it is in.
std::string why_not_trusted(const std::string& path);

/// Does that process see the same files as we do, and run as the same user?
bool has_our_files(const std::string& proc, std::int64_t pid);
bool has_our_user(const std::string& proc, std::int64_t pid);

/// The first libnccl.so that it has mapped; empty: none.
std::string mapped_libnccl(const std::string& proc, std::int64_t pid);

}  // namespace collwatch::nccl_probe
