// SPDX-License-Identifier: Apache-2.0
//
// libnccl at run time: its functions by name, which of them are there, and its version. From 2.10
// to the newest; what came later than 2.10 may be null. Used by the probe's main thread.
#pragma once

#include <string>

#include "probes/model/result.h"
#include "probes/nccl/abi.h"
#include "probes/nccl/config_layout.h"
#include "probes/nccl/shared_library.h"

namespace collwatch::nccl_probe {

struct NcclLibrary {
  /// ErrorCode::not_found: no such library; invalid_argument: not libnccl, or an older one than we
  /// know.
  static model::Result<NcclLibrary> load(const std::string& name);

  std::string path;
  int version = 0;   ///< 22809
  std::string cuda;  ///< that it was built with, "13.0"; empty where the file does not say

  NcclResult (*get_version)(int*) = nullptr;
  NcclResult (*get_unique_id)(NcclUniqueId*) = nullptr;
  NcclResult (*comm_init_rank)(NcclComm*, int, NcclUniqueId, int) = nullptr;
  NcclResult (*comm_destroy)(NcclComm) = nullptr;
  NcclResult (*comm_get_async_error)(NcclComm, NcclResult*) = nullptr;
  const char* (*get_error_string)(NcclResult) = nullptr;
  NcclResult (*group_start)() = nullptr;
  NcclResult (*group_end)() = nullptr;
  NcclResult (*all_reduce)(const void*, void*, std::size_t, int, int, NcclComm,
                           CudaStream) = nullptr;
  NcclResult (*all_gather)(const void*, void*, std::size_t, int, NcclComm, CudaStream) = nullptr;
  NcclResult (*reduce_scatter)(const void*, void*, std::size_t, int, int, NcclComm,
                               CudaStream) = nullptr;
  NcclResult (*broadcast)(const void*, void*, std::size_t, int, int, NcclComm,
                          CudaStream) = nullptr;
  NcclResult (*send)(const void*, std::size_t, int, int, NcclComm, CudaStream) = nullptr;
  NcclResult (*recv)(void*, std::size_t, int, int, NcclComm, CudaStream) = nullptr;

  // Later ones, null in older libraries.
  const char* (*get_last_error)(NcclComm) = nullptr;  // 2.13
  NcclResult (*comm_init_rank_config)(NcclComm*, int, NcclUniqueId, int,
                                      NcclConfig*) = nullptr;  // 2.14
  NcclResult (*comm_finalize)(NcclComm) = nullptr;             // 2.14

  /// Calls come back at once and are polled; without it they wait, and only a guard ends them.
  bool never_blocks() const { return comm_init_rank_config != nullptr && comm_finalize != nullptr; }

  /// The code's meaning and what the library last warned of in this process.
  std::string words(NcclResult result) const;
};

/// 22809 -> "2.28.9".
std::string version_text(int version);

/// "13.0" of a libnccl's file, from the text that it would print; nothing is loaded.
std::string cuda_of_file(const std::string& path);

}  // namespace collwatch::nccl_probe
