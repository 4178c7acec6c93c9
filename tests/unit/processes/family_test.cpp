// SPDX-License-Identifier: Apache-2.0
//
// Which of the processes with one rank's variables is the rank.
#include "daemon/processes/family.h"

#include "tests/support/catch.h"

using namespace collwatch::processes;

TEST_CASE("of a shell, the program it runs and that one's data loaders, the program is the rank") {
  const std::map<int, int> parents = {{10, 1}, {11, 10}, {12, 11}, {13, 11}, {14, 10}};
  CHECK(ranks_among({{10, "j 0", Weight::carrier},
                     {11, "j 0", Weight::library},
                     {12, "j 0", Weight::library},
                     {13, "j 0", Weight::library},
                     {14, "j 0", Weight::carrier}},
                    parents) == std::vector<int>{11});
}

TEST_CASE("a process group of its own outweighs a parent that has only loaded the library") {
  CHECK(ranks_among({{10, "j 0", Weight::library}, {11, "j 0", Weight::group}},
                    {{10, 1}, {11, 10}}) == std::vector<int>{11});
}

TEST_CASE("two programs side by side with one rank are both shown") {
  CHECK(ranks_among({{10, "j 0", Weight::program}, {20, "j 0", Weight::program}},
                    {{10, 1}, {20, 1}}) == std::vector<int>{10, 20});
}

TEST_CASE("ranks of different families do not hide each other; carriers alone are nobody") {
  CHECK(ranks_among({{10, "j 0", Weight::library},
                     {11, "j 1", Weight::library},
                     {12, "j 2", Weight::carrier}},
                    {{10, 1}, {11, 10}, {12, 10}}) == std::vector<int>{10, 11});
}

TEST_CASE("parents that form a circle, since pids are reused, end the search") {
  CHECK(ranks_among({{10, "j 0", Weight::library}}, {{10, 20}, {20, 30}, {30, 20}}) ==
        std::vector<int>{10});
}

TEST_CASE("shells, launchers and collwatch itself are never ranks") {
  CHECK(weight_of_name("bash", false) == Weight::carrier);
  CHECK(weight_of_name("collwatchd", false) == Weight::carrier);
  CHECK(weight_of_name("python3", true) == Weight::carrier);
  CHECK(weight_of_name("python3.11", false) == Weight::interpreter);
  CHECK(weight_of_name("trainer", false) == Weight::program);
}
