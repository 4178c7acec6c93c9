// SPDX-License-Identifier: Apache-2.0
//
// The page: marks, notes that are shared, and what is left out.
#include "probes/c10d/table.h"

#include <string>

#include "tests/support/catch.h"

using namespace collwatch;
using namespace collwatch::c10d_probe;
using Catch::Matchers::ContainsSubstring;
using wire::C10dEnd;

namespace {

wire::C10dReport sample() {
  wire::C10dReport report;
  report.versions.torch = "9.8.7";
  report.cells = {
      {"all_reduce", "float32", "SUM", "cpu", C10dEnd::ok, ""},
      {"all_reduce", "float32", "AVG", "cpu", C10dEnd::refused, "no AVG"},
      {"all_reduce", "int16", "SUM", "cpu", C10dEnd::refused, "Invalid scalar type"},
      {"all_reduce", "uint16", "SUM", "cpu", C10dEnd::unavailable, "no such dtype"},
      {"reduce_scatter_tensor", "float32", "MAX", "cpu", C10dEnd::wrong_values, "got the SUM"},
      {"broadcast", "int16", "", "cpu", C10dEnd::refused, "Invalid scalar type"},
      {"broadcast", "float32", "", "meta", C10dEnd::crash, "SIGSEGV"},
      {"barrier", "", "", "cpu", C10dEnd::hang, ""},
      {"", "", "", "cuda", C10dEnd::unavailable, "not built with CUDA"}};
  report.stores = {{"tcp", C10dEnd::refused, 5, "no libuv"}};
  return report;
}

}  // namespace

TEST_CASE("the page has a mark for every end, and one note for equal words") {
  const std::string page = to_markdown(sample());
  CHECK_THAT(page, ContainsSubstring("# ProcessGroupGloo of libtorch 9.8.7\n"));
  CHECK_THAT(page, ContainsSubstring("| all_reduce | ok | no 1 |\n"));
  CHECK_THAT(page, ContainsSubstring("| broadcast | | no 1 |\n"));
  CHECK_THAT(page, ContainsSubstring("| float32 | SUM | AVG | MAX |\n"));
  CHECK_THAT(page, ContainsSubstring("| reduce_scatter_tensor | | | **wrong values** 3 |\n"));
  CHECK_THAT(page, ContainsSubstring("| broadcast | | **crash** 4 |\n"));
  CHECK_THAT(page, ContainsSubstring("| barrier | **hang** 5 | |\n"));
  CHECK_THAT(page,
             ContainsSubstring("No tensor can be made on `cuda` here: `not built with CUDA`"));
  CHECK_THAT(page, ContainsSubstring("| tcp | refused: `no libuv` |\n"));
  CHECK_THAT(page, ContainsSubstring("1. `Invalid scalar type`\n2. `no AVG`\n"
                                     "3. reduce_scatter_tensor: got the SUM\n4. `SIGSEGV`\n"));
  CHECK_THAT(page, !ContainsSubstring("uint16"));
}

TEST_CASE("how long it took does not show on the page") {
  wire::C10dReport slow = sample();
  slow.done = {1000000, 1000000, 1000000};
  slow.stores[0].duration_us = 77;
  CHECK(to_markdown(slow) == to_markdown(sample()));
}

TEST_CASE("a failure that differs from run to run looks the same on the page") {
  wire::C10dReport once = sample();
  once.cells.push_back({"send_recv", "float32", "", "meta", C10dEnd::crash, "SIGABRT"});
  wire::C10dReport again = sample();
  again.cells.push_back({"send_recv", "float32", "", "meta", C10dEnd::refused, "Bad address"});
  CHECK(to_markdown(once) == to_markdown(again));
  CHECK_THAT(to_markdown(once), ContainsSubstring("| send_recv | | **unsafe** 5 |\n"));
  again.cells.back().text = "unsupported device type meta";
  CHECK(to_markdown(once) != to_markdown(again));
}
