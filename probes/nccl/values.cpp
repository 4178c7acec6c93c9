// SPDX-License-Identifier: Apache-2.0
//
// word(rank, place) = (rank + 1) * A + place * B + tag: its sum over all ranks has a closed form.
#include "probes/nccl/values.h"

#include <algorithm>

namespace collwatch::nccl_probe {
namespace {

using model::Collective;

constexpr std::uint32_t kByRank = 0x9E3779B1U;
constexpr std::uint32_t kByPlace = 0x85EBCA6BU;
constexpr std::uint32_t kByCollective = 0xC2B2AE35U;

std::uint32_t word(const Shape& shape, std::size_t rank, std::size_t place) {
  return static_cast<std::uint32_t>(rank + 1) * kByRank +
         static_cast<std::uint32_t>(place) * kByPlace + shape.tag;
}

std::uint32_t sum(const Shape& shape, std::size_t place) {
  const auto n = static_cast<std::uint32_t>(shape.ranks);
  return static_cast<std::uint32_t>(std::uint64_t{n} * (n + 1) / 2) * kByRank +
         n * (static_cast<std::uint32_t>(place) * kByPlace + shape.tag);
}

bool is_split(Collective collective) {
  return collective == Collective::allgather || collective == Collective::reduce_scatter ||
         collective == Collective::alltoall;
}

std::uint32_t expected(const Shape& shape, std::size_t rank, std::size_t place) {
  const std::size_t part = shape.words / static_cast<std::size_t>(shape.ranks);
  switch (shape.collective) {
    case Collective::allreduce:
      return sum(shape, place);
    case Collective::reduce_scatter:
      return sum(shape, rank * part + place);
    case Collective::allgather:
      return word(shape, place / part, place % part);
    case Collective::alltoall:
      return word(shape, place / part, rank * part + place % part);
    case Collective::broadcast:
    case Collective::barrier:
      break;
  }
  return word(shape, 0, place);
}

}  // namespace

Shape make_shape(Collective collective, int ranks, std::uint32_t size_bytes, std::int64_t round) {
  Shape shape;
  shape.collective = collective;
  shape.ranks = ranks;
  shape.words = std::max<std::size_t>(1, size_bytes / sizeof(std::uint32_t));
  if (is_split(collective)) {
    const auto n = static_cast<std::size_t>(ranks);
    shape.words = std::max<std::size_t>(1, shape.words / n) * n;
  }
  shape.tag =
      static_cast<std::uint32_t>(round) + static_cast<std::uint32_t>(collective) * kByCollective;
  return shape;
}

std::size_t words_in(const Shape& shape) {
  const bool gathers = shape.collective == Collective::allgather;
  return gathers ? shape.words / static_cast<std::size_t>(shape.ranks) : shape.words;
}

std::size_t words_out(const Shape& shape) {
  const bool scatters = shape.collective == Collective::reduce_scatter;
  return scatters ? shape.words / static_cast<std::size_t>(shape.ranks) : shape.words;
}

Words input_of(const Shape& shape, int rank) {
  Words words(words_in(shape));
  for (std::size_t i = 0; i < words.size(); ++i) {
    words[i] = word(shape, static_cast<std::size_t>(rank), i);
  }
  return words;
}

std::size_t wrong_words(const Shape& shape, int rank, const Words& output) {
  std::size_t wrong = 0;
  for (std::size_t i = 0; i < output.size(); ++i) {
    wrong += output[i] != expected(shape, static_cast<std::size_t>(rank), i) ? 1 : 0;
  }
  return wrong;
}

}  // namespace collwatch::nccl_probe
