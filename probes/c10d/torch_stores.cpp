// SPDX-License-Identifier: Apache-2.0
//
// Rendezvous as a job does it: a store, a ProcessGroupGloo made through it, one all_reduce.
#include "probes/c10d/torch_group.h"

#include <cstdint>
#include <stdexcept>
#include <string>
#include <vector>

#include "probes/c10d/torch_ops.h"

namespace collwatch::c10d_probe {
namespace {

using wire::C10dEnd;

/// libuv is the default from 2.4 on, also in builds without it, where the constructor throws.
template <typename Options>
void without_libuv(Options& options) {
  if constexpr (requires { options.useLibUV; }) options.useLibUV = false;
}

/// 1 + 2 = 3, through the group that a store has brought together.
Ending sum_through(const c10::intrusive_ptr<c10d::Store>& store, int rank,
                   std::chrono::milliseconds timeout) {
  const GroupPointer group = make_group(store, rank, kRanks, timeout);
  std::vector<at::Tensor> tensors = {at::full({kElements}, rank + 1.0)};
  if (!group->allreduce(tensors)->wait(timeout)) throw std::runtime_error("wait() returned false");
  if (!tensors[0].eq(3.0).all().item<bool>()) return {C10dEnd::wrong_values, "1 + 2 is not 3"};
  return {};
}

}  // namespace

Ending try_tcp_store(int rank, const Between& between, std::chrono::milliseconds timeout) {
  return refusal_of([&] {
    c10d::TCPStoreOptions options;
    without_libuv(options);
    options.timeout = timeout;
    options.isServer = rank == 0;
    options.waitWorkers = false;
    options.numWorkers = kRanks;
    options.port = 0;
    if (rank != 0) options.port = static_cast<std::uint16_t>(std::stoi(between.hear()));
    const auto store = c10::make_intrusive<c10d::TCPStore>("127.0.0.1", options);
    if (rank == 0) between.tell(std::to_string(store->getPort()));
    return sum_through(store, rank, timeout);
  });
}

Ending try_file_store(int rank, const std::string& path, std::chrono::milliseconds timeout) {
  return refusal_of([&] {
    const auto store = c10::make_intrusive<c10d::FileStore>(path, kRanks);
    store->setTimeout(timeout);
    return sum_through(store, rank, timeout);
  });
}

}  // namespace collwatch::c10d_probe
