// SPDX-License-Identifier: Apache-2.0
//
// The collectives of the worker in corrupting_payload.cpp: of its contribution to a large one it
// flips one bit.
#define fill_values fill_values_rightly
#include "probes/gloo/values.h"
#undef fill_values

namespace collwatch::gloo_probe {

inline void fill_values(std::span<std::uint32_t> out, std::uint32_t seed, std::uint32_t rank,
                        std::size_t first = 0) {
  fill_values_rightly(out, seed, rank, first);
  if (out.size() > 1) out[out.size() / 2] ^= 1;
}

}  // namespace collwatch::gloo_probe

#include "probes/gloo/collectives.cpp"  // NOLINT(bugprone-suspicious-include): with the fill above
