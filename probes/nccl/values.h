// SPDX-License-Identifier: Apache-2.0
//
// What the ranks put into a collective and must get out of it: 32-bit words that depend on rank,
// place, collective and round, so that lost, stale, misplaced and flipped words all show. Sums wrap
// and are exact. Pure.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "probes/model/vocabulary.h"

namespace collwatch::nccl_probe {

using Words = std::vector<std::uint32_t>;

/// One collective of `ranks` ranks, in which the larger of the two buffers has `words` words.
struct Shape {
  model::Collective collective = model::Collective::allreduce;
  int ranks = 1;
  std::size_t words = 1;  ///< allgather, reduce_scatter, alltoall: a multiple of ranks
  std::uint32_t tag = 0;  ///< of the round
};

/// `size_bytes` as the configuration has it, made to fit the ranks: at least a word for each.
Shape make_shape(model::Collective collective, int ranks, std::uint32_t size_bytes,
                 std::int64_t round);

/// Words that a rank sends, and that it receives.
std::size_t words_in(const Shape& shape);
std::size_t words_out(const Shape& shape);

Words input_of(const Shape& shape, int rank);

/// How many words of `output` are not what `rank` must have received. The root is rank 0.
std::size_t wrong_words(const Shape& shape, int rank, const Words& output);

}  // namespace collwatch::nccl_probe
