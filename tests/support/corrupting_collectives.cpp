// SPDX-License-Identifier: Apache-2.0
//
// A Gloo worker that damages its contribution to every large collective, for tests: one bit in each
// of its eighths, so that each block of an alltoall has one. Alone it is a worker whose edges are
// well; with corrupting_payload.cpp nothing large leaves it whole.
#define fill_values fill_values_rightly
#include "probes/gloo/values.h"
#undef fill_values

namespace collwatch::gloo_probe {

inline void fill_values(std::span<std::uint32_t> out, std::uint32_t seed, std::uint32_t rank,
                        std::size_t first = 0) {
  fill_values_rightly(out, seed, rank, first);
  if (out.size() < 1024) return;
  for (std::size_t i = 0; i < 8; ++i) out[i * out.size() / 8 + 1] ^= 1;
}

}  // namespace collwatch::gloo_probe

#include "probes/gloo/collectives.cpp"  // NOLINT(bugprone-suspicious-include): with the fill above
