// SPDX-License-Identifier: Apache-2.0
//
// What is tried, and that a right answer cannot be mistaken for another operation's.
#include "probes/c10d/combination.h"

#include <algorithm>
#include <set>
#include <string>
#include <vector>

#include "tests/support/catch.h"

using namespace collwatch::c10d_probe;

TEST_CASE("no two ReduceOps have the same result, so a wrong one is known by name") {
  for (const std::string dtype : {"float32", "int32"}) {
    for (const int piece : {0, 1}) {
      std::set<std::vector<double>> results;
      for (const std::string& op : reduce_ops()) {
        const auto values = reduced(op, piece, dtype);
        REQUIRE(values);
        CHECK(values->size() == kElements);
        CHECK(results.insert(*values).second);
      }
    }
  }
  CHECK_FALSE(reduced("MEDIAN", 0, "float32"));
}

TEST_CASE("inputs differ by rank and piece, and every value fits into eight bits") {
  std::set<std::vector<double>> seen;
  for (const int rank : {0, 1}) {
    for (const int piece : {0, 1}) CHECK(seen.insert(input(rank, piece, "int8")).second);
  }
  for (const std::string op : {"SUM", "PRODUCT", "MAX"}) {
    const auto values = reduced(op, 1, "int8").value();
    CHECK(*std::max_element(values.begin(), values.end()) <= 127);
  }
}

TEST_CASE("bool inputs are bits, and all four pairs of bits are among them") {
  std::set<std::pair<double, double>> pairs;
  const auto a = input(0, 0, "bool");
  const auto b = input(1, 0, "bool");
  for (std::size_t i = 0; i < a.size(); ++i) pairs.insert({a[i], b[i]});
  CHECK(pairs.size() == 4);
}

TEST_CASE("every operation is tried on every device, every ReduceOp on the CPU") {
  const auto cpu = combinations("cpu");
  const auto has = [&cpu](const Combination& what) {
    return std::find(cpu.begin(), cpu.end(), what) != cpu.end();
  };
  for (const std::string& op : operations()) {
    const std::string sum = reduces(op) ? "SUM" : "";
    CHECK(has({op, has_tensor(op) ? "bfloat16" : "", sum, "cpu"}));
    if (!reduces(op)) continue;
    for (const std::string& reduce_op : reduce_ops()) {
      CHECK(has({op, "float32", reduce_op, "cpu"}));
      CHECK(has({op, "int32", reduce_op, "cpu"}));
    }
  }
  CHECK_FALSE(has({"broadcast", "float32", "SUM", "cpu"}));
  const auto meta = combinations("meta");
  CHECK(meta.size() == operations().size() - 2);  // barriers have no tensor to lie there
  for (const Combination& what : meta) CHECK(what.dtype == "float32");
  std::set<std::string> once;
  for (const Combination& what : cpu) CHECK(once.insert(describe(what)).second);
}
