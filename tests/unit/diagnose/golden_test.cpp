// SPDX-License-Identifier: Apache-2.0
//
// Whole pages of two cases, one with a culprit and one with a healthy job, in every format,
// reviewed as pages. After a change that is meant, write them anew and read the difference:
//   COLLWATCH_UPDATE_GOLDEN=1 ctest --preset dev -R 'golden: diagnosis'
#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "daemon/diagnose/print.h"
#include "daemon/logs/line_blocks.h"
#include "tests/support/catch.h"
#include "tests/unit/diagnose/cases.h"

using namespace collwatch;
using namespace collwatch::diagnose;

namespace {

namespace fs = std::filesystem;

/// The case as somebody sees it who stands in its folder; the clock is not part of the page.
Diagnosis diagnosis_of(const std::string& name) {
  const fs::path logs = fs::path(COLLWATCH_SOURCE_DIR) / "tests/cases/diagnose" / name / "logs";
  std::vector<std::string> files;
  for (const auto& entry : fs::directory_iterator(logs)) {
    files.push_back(entry.path().filename().string());
  }
  std::sort(files.begin(), files.end());
  std::vector<Input> inputs;
  for (const std::string& file : files) {
    Input input;
    input.source.name = file;
    input.source.hint = logs::hint_from_path(file);
    input.bytes = logs::bytes_of(read_file(logs / file));
    inputs.push_back(std::move(input));
  }
  auto diagnosis = engine().run_inputs(std::move(inputs));
  REQUIRE(diagnosis.has_value());
  diagnosis->scanned.seconds = 0.25;
  return *diagnosis;
}

void check_page(const std::string& name, const std::string& page) {
  const std::string path = std::string(COLLWATCH_SOURCE_DIR) + "/tests/golden/diagnose/" + name;
  if (std::getenv("COLLWATCH_UPDATE_GOLDEN") != nullptr) {
    fs::create_directories(fs::path(path).parent_path());
    std::ofstream(path) << page;
    WARN("wrote " << path);
    return;
  }
  INFO(path);
  std::istringstream now(page);
  std::istringstream kept(read_file(path));
  std::string now_line;
  std::string kept_line;
  REQUIRE_FALSE(kept.str().empty());
  while (std::getline(kept, kept_line)) {
    const bool more = static_cast<bool>(std::getline(now, now_line));
    REQUIRE((more ? now_line : "(the page ends)") == kept_line);
  }
  CHECK_FALSE(static_cast<bool>(std::getline(now, now_line)));
}

}  // namespace

TEST_CASE("golden: diagnosis of a killed rank, and of a healthy job, in every format") {
  for (const std::string name : {"torch-2.6.0-kill9_rank1_env", "torch-2.6.0-ok_env"}) {
    const Diagnosis diagnosis = diagnosis_of(name);
    check_page(name + ".json", to_json(diagnosis) + "\n");
    check_page(name + ".txt", to_text(diagnosis, engine().catalogue(), false));
    check_page(name + ".md", to_markdown(diagnosis, engine().catalogue()));
  }
}

TEST_CASE("golden: diagnosis that was redacted") {
  Diagnosis diagnosis = diagnosis_of("xid-under-watchdog");
  redact(diagnosis);
  check_page("xid-under-watchdog.redacted.txt", to_text(diagnosis, engine().catalogue(), false));
}

TEST_CASE("colour is the same page with colour") {
  const Diagnosis diagnosis = diagnosis_of("torch-2.6.0-kill9_rank1_env");
  std::string colourful = to_text(diagnosis, engine().catalogue(), true);
  CHECK(colourful.find('\x1b') != std::string::npos);
  colourful.resize(logs::strip_escapes(colourful.data(), colourful.size()));
  CHECK(colourful == to_text(diagnosis, engine().catalogue(), false));
}
