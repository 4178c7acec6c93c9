// SPDX-License-Identifier: Apache-2.0
//
// ncclConfig_t as it grew from 2.14 on: fields are appended and never moved, the library takes as
// much of ours as it knows, and resets what is newer than the version that we say we are. So one
// layout, the newest, serves all of them. Pure; used when a communicator is made.
#pragma once

#include <climits>
#include <cstddef>

namespace collwatch::nccl_probe {

inline constexpr int kUndefined = INT_MIN;
inline constexpr unsigned kConfigMagic = 0xcafebeef;

struct NcclConfig {
  std::size_t size;
  unsigned magic;
  unsigned version;
  int blocking;  // 2.14, 24 bytes
  int cga_cluster_size;
  int min_ctas;
  int max_ctas;
  const char* net_name;  // 2.17, 40 bytes
  int split_share;       // 2.18, 48 bytes
  int traffic_class;     // 2.26; was padding
  const char* comm_name;
  int collnet_enable;
  int cta_policy;
  int shrink_share;
  int nvls_ctas;  // 2.27, 72 bytes
  int channels_per_net_peer;
  int nvlink_centric_sched;  // 2.28, 80 bytes
  int graph_usage_mode;
  int rma_contexts;  // 2.29, 88 bytes
  int max_p2p_peers;
  int graph_stream_ordering;  // 2.30, 96 bytes
};

static_assert(sizeof(NcclConfig) == 96);
static_assert(offsetof(NcclConfig, net_name) == 32);
static_assert(offsetof(NcclConfig, traffic_class) == 44);
static_assert(offsetof(NcclConfig, comm_name) == 48);
static_assert(offsetof(NcclConfig, graph_stream_ordering) == 92);

/// What a communicator of one tiny kernel needs, for a library of `library_version`
/// (ncclGetVersion): never waits, one block, no clusters, a name that logs show.
NcclConfig make_config(int library_version);

/// How many bytes of it a library of that version reads.
std::size_t config_size(int library_version);

}  // namespace collwatch::nccl_probe
