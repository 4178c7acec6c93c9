// SPDX-License-Identifier: Apache-2.0
//
// Every field is set on purpose: what is not wanted is "undefined", never left as memory had it.
#include "probes/nccl/config_layout.h"

#include "probes/nccl/abi.h"

namespace collwatch::nccl_probe {

NcclConfig make_config(int library_version) {
  NcclConfig config{};
  config.size = sizeof(NcclConfig);
  config.magic = kConfigMagic;
  config.version = static_cast<unsigned>(library_version);
  config.blocking = 0;  // 2.14 to 2.16 refuse "undefined"
  config.cga_cluster_size = 0;
  // One without the other is refused.
  config.min_ctas = 1;
  config.max_ctas = 1;
  config.net_name = nullptr;
  config.split_share = 0;
  config.traffic_class = kUndefined;
  config.comm_name = "collwatch-probe";
  config.collnet_enable = kUndefined;
  config.cta_policy = kUndefined;
  config.shrink_share = kUndefined;
  config.nvls_ctas = kUndefined;
  config.channels_per_net_peer = kUndefined;
  config.nvlink_centric_sched = kUndefined;
  config.graph_usage_mode = kUndefined;
  config.rma_contexts = kUndefined;
  config.max_p2p_peers = kUndefined;
  config.graph_stream_ordering = kUndefined;
  return config;
}

std::size_t config_size(int library_version) {
  if (library_version < nccl_version(2, 14, 0)) return 0;
  if (library_version < nccl_version(2, 17, 0)) return 24;
  if (library_version < nccl_version(2, 18, 0)) return 40;
  if (library_version < nccl_version(2, 27, 0)) return 48;
  if (library_version < nccl_version(2, 28, 0)) return 72;
  if (library_version < nccl_version(2, 29, 0)) return 80;
  if (library_version < nccl_version(2, 30, 0)) return 88;
  return 96;
}

}  // namespace collwatch::nccl_probe
