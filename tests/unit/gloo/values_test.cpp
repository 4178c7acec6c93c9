// SPDX-License-Identifier: Apache-2.0
//
// The sums that allreduce must produce, against a plain loop; and that a wrong element is counted.
#include "probes/gloo/values.h"

#include <vector>

#include "tests/support/catch.h"

using namespace collwatch::gloo_probe;

TEST_CASE("the closed form of a sum is the sum") {
  for (const std::uint32_t size : {1U, 2U, 3U, 8U, 16U}) {
    std::vector<std::uint32_t> sums(1000);
    for (std::uint32_t rank = 0; rank < size; ++rank) {
      for (std::size_t i = 0; i < sums.size(); ++i) sums[i] += value_of(7, rank, i);
    }
    CHECK(wrong_sums(sums, 7, size) == 0);
    for (std::size_t i = 0; i < sums.size(); ++i) REQUIRE(sums[i] == sum_of(7, size, i));
    CHECK(wrong_sums(sums, 8, size) > 990);
    sums[500] ^= 1;
    CHECK(wrong_sums(sums, 7, size) == 1);
  }
}

TEST_CASE("a contribution tells its rank, its place and its run") {
  std::vector<std::uint32_t> values(1000);
  fill_values(values, 7, 3, 100);
  CHECK(wrong_values(values, 7, 3, 100) == 0);
  CHECK(wrong_values(values, 7, 2, 100) > 990);
  CHECK(wrong_values(values, 7, 3, 101) > 990);
  CHECK(wrong_values(values, 8, 3, 100) > 990);
  values[0] += 1;
  CHECK(wrong_values(values, 7, 3, 100) == 1);
}
