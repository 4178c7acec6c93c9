// SPDX-License-Identifier: Apache-2.0
//
// What may lie where a job's file:// store will be.
#include "probes/c10d/stale_file.h"

#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>

#include "tests/support/catch.h"

using Catch::Matchers::ContainsSubstring;
using collwatch::c10d_probe::describe_stale_file;

TEST_CASE("a store that an earlier job left is told, nothing and an empty file are not") {
  std::string folder = std::filesystem::temp_directory_path() / "collwatch-test-XXXXXX";
  REQUIRE(::mkdtemp(folder.data()) != nullptr);
  const std::string path = folder + "/store";
  CHECK(describe_stale_file(path).empty());
  std::ofstream(path).close();
  CHECK(describe_stale_file(path).empty());
  std::ofstream(path) << "init/";
  CHECK_THAT(describe_stale_file(path), ContainsSubstring("a store of 5 bytes is there already"));
  CHECK_THAT(describe_stale_file(folder), ContainsSubstring("no regular file"));
  CHECK_THAT(describe_stale_file(path + "/below"), ContainsSubstring("Not a directory"));
  std::filesystem::remove_all(folder);
}
