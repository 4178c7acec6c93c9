// SPDX-License-Identifier: Apache-2.0
//
// Reading the cases.
#include "tests/unit/diagnose/cases.h"

#include <cstdlib>
#include <fstream>
#include <nlohmann/json.hpp>
#include <sstream>

#include "tests/support/catch.h"

namespace collwatch::diagnose {

namespace fs = std::filesystem;

std::vector<Case> cases() {
  std::vector<Case> all;
  for (const auto& entry : fs::directory_iterator(COLLWATCH_SOURCE_DIR "/tests/cases/diagnose")) {
    const auto truth = nlohmann::json::parse(read_file(entry.path() / "truth.json"));
    Case one;
    one.name = entry.path().filename().string();
    one.logs = entry.path() / "logs";
    one.accept = truth["accept"].get<std::vector<std::string>>();
    one.completed = truth["job_completed"].get<bool>();
    if (one.completed) one.accept.emplace_back("none");  // possibly a second time
    if (!truth["initiating_rank"].is_null()) one.rank = truth["initiating_rank"].get<int>();
    all.push_back(one);
  }
  return all;
}

const Engine& engine() {
  static const Engine built = [] {
    auto catalogue = catalogue::Catalogue::built_in();
    REQUIRE(catalogue.has_value());
    auto result = Engine::build(std::move(*catalogue));
    REQUIRE(result.has_value());
    return std::move(*result);
  }();
  return built;
}

Diagnosis diagnose_paths(const std::vector<std::string>& paths) {
  const auto sources = logs::find_sources(paths);
  REQUIRE(sources.has_value());
  const auto diagnosis = engine().run(*sources);
  REQUIRE(diagnosis.has_value());
  return *diagnosis;
}

std::pair<std::string, std::optional<int>> essence(const Diagnosis& diagnosis) {
  const Verdict& verdict = diagnosis.verdict;
  return {std::string(model::name(verdict.fingerprint)),
          verdict.initiating ? verdict.initiating->rank : std::nullopt};
}

std::string read_file(const fs::path& path) {
  std::ifstream in(path, std::ios::binary);
  std::ostringstream out;
  out << in.rdbuf();
  return out.str();
}

TemporaryFolder::TemporaryFolder() {
  std::string name = (fs::temp_directory_path() / "collwatch-diagnose-XXXXXX").string();
  REQUIRE(mkdtemp(name.data()) != nullptr);
  path_ = name;
}

TemporaryFolder::~TemporaryFolder() {
  std::error_code ignored;
  fs::remove_all(path_, ignored);
}

std::string TemporaryFolder::write(const std::string& name, const std::string& text) const {
  const fs::path path = path_ / name;
  fs::create_directories(path.parent_path());
  std::ofstream(path, std::ios::binary) << text;
  return path.string();
}

}  // namespace collwatch::diagnose
