// SPDX-License-Identifier: Apache-2.0
//
// A Gloo allreduce loop with nothing around it: what a job would do, for tests/bench/beside.
//
//   bare_allreduce RANK SIZE FOLDER ADDRESS BYTES SECONDS PAUSE_MS
//
// Ranks meet through FOLDER (empty, shared), as many 4-byte sums as BYTES holds, for SECONDS, with
// a pause after each. Rank 0 prints one line: median and 99th percentile in microseconds, and how
// many.
#include <gloo/allreduce.h>
#include <gloo/rendezvous/file_store.h>
#include <gloo/transport/tcp/device.h>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <thread>
#include <vector>

#include "probes/gloo/mesh.h"

namespace {

using Clock = std::chrono::steady_clock;

struct Loop {
  int rank;
  int size;
  std::string folder;
  std::string address;
  std::size_t elements;
  std::chrono::seconds lasting;
  std::chrono::milliseconds pause;
};

void allreduce(const std::shared_ptr<gloo::Context>& context, std::vector<std::uint32_t>& values) {
  gloo::AllreduceOptions options(context);
  options.setAlgorithm(gloo::AllreduceOptions::Algorithm::RING);
  options.setOutput(values.data(), values.size());
  options.setReduceFunction([](void* out, const void* left, const void* right, std::size_t n) {
    auto* sum = static_cast<std::uint32_t*>(out);
    const auto* a = static_cast<const std::uint32_t*>(left);
    const auto* b = static_cast<const std::uint32_t*>(right);
    for (std::size_t i = 0; i < n; ++i) sum[i] = a[i] + b[i];
  });
  gloo::allreduce(options);
}

/// Microseconds of each call. Rank 0's clock ends it for all: the last sum says so.
std::vector<double> run(const Loop& loop) {
  gloo::transport::tcp::attr attr;
  attr.hostname = loop.address;
  auto context = std::make_shared<gloo::rendezvous::Context>(loop.rank, loop.size);
  auto store = std::make_shared<gloo::rendezvous::FileStore>(loop.folder);
  collwatch::gloo_probe::connect_full_mesh(*context, store,
                                           gloo::transport::tcp::CreateDevice(attr));
  std::vector<double> taken;
  std::vector<std::uint32_t> values(loop.elements);
  const auto end = Clock::now() + loop.lasting;
  for (bool over = false; !over;) {
    std::fill(values.begin(), values.end(), 0);
    values[0] = loop.rank == 0 && Clock::now() >= end ? 1 : 0;
    const auto began = Clock::now();
    allreduce(context, values);
    taken.push_back(std::chrono::duration<double, std::micro>(Clock::now() - began).count());
    over = values[0] > 0;
    std::this_thread::sleep_for(loop.pause);
  }
  return taken;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 8) {
    std::fprintf(stderr, "usage: bare_allreduce RANK SIZE FOLDER ADDRESS BYTES SECONDS PAUSE_MS\n");
    return 2;
  }
  const Loop loop{std::atoi(argv[1]),
                  std::atoi(argv[2]),
                  argv[3],
                  argv[4],
                  std::max<std::size_t>(1, std::strtoul(argv[5], nullptr, 10) / 4),
                  std::chrono::seconds(std::atoi(argv[6])),
                  std::chrono::milliseconds(std::atoi(argv[7]))};
  try {
    std::vector<double> taken = run(loop);
    std::sort(taken.begin(), taken.end());
    if (loop.rank == 0) {
      std::printf("%.1f %.1f %zu\n", taken[taken.size() / 2], taken[taken.size() * 99 / 100],
                  taken.size());
    }
  } catch (const std::exception& error) {
    std::fprintf(stderr, "bare_allreduce: rank %d: %s\n", loop.rank, error.what());
    return 1;
  }
  return 0;
}
