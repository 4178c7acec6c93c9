// SPDX-License-Identifier: Apache-2.0
//
// All agents must name the same odd one.
#include "daemon/agent/unlike_the_rest.h"

#include "tests/support/catch.h"

using collwatch::agent::unlike_the_rest;
using Names = std::vector<std::string>;

TEST_CASE("the one that differs is named by everybody, itself included") {
  const std::map<std::string, std::string> values{{"a", "1"}, {"b", "1"}, {"c", "2"}, {"d", "1"}};
  for (const auto& [self, value] : values) CHECK(unlike_the_rest(values, self) == Names{"c"});
}

TEST_CASE("of two nobody can say, so each names the other") {
  const std::map<std::string, std::string> values{{"a", "1"}, {"b", "2"}};
  CHECK(unlike_the_rest(values, "a") == Names{"b"});
  CHECK(unlike_the_rest(values, "b") == Names{"a"});
}

TEST_CASE("what is not known yet is neither counted nor named") {
  CHECK(unlike_the_rest({{"a", ""}, {"b", ""}, {"c", "2"}}, "a").empty());
  CHECK(unlike_the_rest({{"a", ""}, {"b", "1"}, {"c", "2"}, {"d", "2"}}, "a") == Names{"b"});
  CHECK(unlike_the_rest({}, "a").empty());
}
