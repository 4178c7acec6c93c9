// SPDX-License-Identifier: Apache-2.0
//
// The pattern against collectives computed the slow way: right results pass, and any one wrong
// word, part or rank does not.
#include "probes/nccl/values.h"

#include "tests/support/catch.h"

using namespace collwatch::nccl_probe;
using collwatch::model::Collective;

namespace {

/// What `rank` must receive, from what all send.
Words collective(const Shape& shape, int rank) {
  std::vector<Words> inputs;
  for (int r = 0; r < shape.ranks; ++r) inputs.push_back(input_of(shape, r));
  const auto me = static_cast<std::size_t>(rank);
  const std::size_t part = shape.words / inputs.size();
  Words out;
  switch (shape.collective) {
    case Collective::allreduce:
    case Collective::reduce_scatter:
      out.resize(shape.words);
      for (const Words& input : inputs) {
        for (std::size_t i = 0; i < out.size(); ++i) out[i] += input[i];
      }
      if (shape.collective == Collective::allreduce) return out;
      return {out.begin() + static_cast<long>(me * part),
              out.begin() + static_cast<long>((me + 1) * part)};
    case Collective::allgather:
      for (const Words& input : inputs) out.insert(out.end(), input.begin(), input.end());
      return out;
    case Collective::alltoall:
      for (const Words& input : inputs) {
        out.insert(out.end(), input.begin() + static_cast<long>(me * part),
                   input.begin() + static_cast<long>((me + 1) * part));
      }
      return out;
    default:
      return inputs[0];
  }
}

constexpr Collective kAll[] = {Collective::allreduce, Collective::allgather,
                               Collective::reduce_scatter, Collective::broadcast,
                               Collective::alltoall};

}  // namespace

TEST_CASE("what the collectives give is what the ranks expect, for any number of ranks") {
  for (const int ranks : {1, 2, 3, 8, 61}) {
    for (const std::uint32_t bytes : {4U, 1000U, 4096U}) {
      for (const Collective c : kAll) {
        const Shape shape = make_shape(c, ranks, bytes, 41);
        INFO(collwatch::model::name(c) << ", " << ranks << " ranks, " << bytes << " bytes");
        for (int rank = 0; rank < ranks; ++rank) {
          Words out = collective(shape, rank);
          REQUIRE(out.size() == words_out(shape));
          REQUIRE(wrong_words(shape, rank, out) == 0);
          out.back() ^= 1;
          REQUIRE(wrong_words(shape, rank, out) == 1);
        }
      }
    }
  }
}

TEST_CASE("another round's, another rank's and another collective's words are wrong") {
  const Shape shape = make_shape(Collective::allreduce, 4, 4096, 7);
  const Words right = collective(shape, 0);
  CHECK(wrong_words(make_shape(Collective::allreduce, 4, 4096, 8), 0, right) == right.size());
  CHECK(wrong_words(make_shape(Collective::allreduce, 5, 4096, 7), 0, right) == right.size());
  const Shape exchange = make_shape(Collective::alltoall, 4, 4096, 7);
  CHECK(wrong_words(exchange, 1, collective(exchange, 2)) == right.size());
  const Shape copy = make_shape(Collective::broadcast, 4, 4096, 7);
  CHECK(wrong_words(copy, 0, input_of(copy, 1)) == right.size());
}

TEST_CASE("a size is that of the larger buffer, and at least a word for every rank") {
  CHECK(make_shape(Collective::allgather, 8, 1048576, 0).words == 262144);
  CHECK(words_in(make_shape(Collective::allgather, 8, 1048576, 0)) == 32768);
  CHECK(words_out(make_shape(Collective::reduce_scatter, 8, 4, 0)) == 1);
  CHECK(make_shape(Collective::alltoall, 8, 4, 0).words == 8);
  CHECK(make_shape(Collective::allreduce, 8, 1, 0).words == 1);
}
