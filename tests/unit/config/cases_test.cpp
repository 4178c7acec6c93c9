// SPDX-License-Identifier: Apache-2.0
//
// Every bad input has its one clear sentence, every good one loads and survives being printed.
#include "tests/unit/config/cases.h"

#include "daemon/config/print.h"
#include "tests/support/catch.h"

using namespace collwatch;

namespace {

std::string without_folder(std::string text) {
  const std::string folder = test::cases_folder();
  for (std::size_t at = text.find(folder); at != std::string::npos; at = text.find(folder)) {
    text.erase(at, folder.size());
  }
  return text;
}

std::string said(const model::Result<config::Config>& config) {
  if (!config) return without_folder(config.error().text) + "\n";
  std::string text = "ok\n";
  for (const std::string& warning : config->warnings) text += without_folder(warning) + "\n";
  return text;
}

}  // namespace

TEST_CASE("every configuration case is answered as written beside it") {
  const auto cases = test::config_cases();
  REQUIRE(cases.size() > 50);
  for (const std::string& name : cases) {
    INFO(name);
    CHECK(said(config::load(test::case_sources(name))) ==
          test::read_text(test::cases_folder() + name + ".expected"));
  }
}

TEST_CASE("what is printed loads again and prints the same, and never holds the token") {
  for (const std::string& name : test::config_cases()) {
    if (!name.starts_with("ok_")) continue;
    INFO(name);
    auto sources = test::case_sources(name);
    const auto first = config::load(sources);
    REQUIRE(first);
    const std::string printed = config::print(*first);
    sources.environment.clear();
    sources.flags.clear();
    const auto second = config::load_text(printed, sources);
    REQUIRE(second);
    CHECK(config::print(*second) == printed);
    CHECK(second->membership.members == first->membership.members);
    CHECK(printed.find("shared secret") == std::string::npos);
  }
}
