// SPDX-License-Identifier: Apache-2.0
//
// The allow list: what passes, what does not, and each name once.
#include "daemon/supervise/environment.h"

#include <stdlib.h>

#include <algorithm>

#include "tests/support/catch.h"

using collwatch::supervise::worker_environment;

namespace {
long count(const std::vector<std::string>& environment, const std::string& entry) {
  return std::count(environment.begin(), environment.end(), entry);
}
}  // namespace

TEST_CASE("only listed and asked-for variables pass") {
  setenv("COLLWATCH_TEST_KEPT", "a=b c", 1);
  setenv("COLLWATCH_TEST_EMPTY", "", 1);
  setenv("GLOO_SOCKET_IFNAME", "eth9", 1);
  setenv("LANG", "C", 1);
  unsetenv("LC_ALL");

  const auto environment = worker_environment(
      {"COLLWATCH_TEST_KEPT", "COLLWATCH_TEST_EMPTY", "COLLWATCH_TEST_UNSET", "LANG", "LANG", ""});
  CHECK(count(environment, "COLLWATCH_TEST_KEPT=a=b c") == 1);
  CHECK(count(environment, "COLLWATCH_TEST_EMPTY=") == 1);
  CHECK(count(environment, "LANG=C") == 1);
  CHECK(std::none_of(environment.begin(), environment.end(), [](const std::string& entry) {
    return entry.rfind("GLOO_", 0) == 0 || entry.rfind("LC_ALL", 0) == 0 ||
           entry.rfind("COLLWATCH_TEST_UNSET", 0) == 0 || entry[0] == '=';
  }));
}
