// SPDX-License-Identifier: Apache-2.0
//
// Finding and reading the cases.
#include "tests/unit/config/cases.h"

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <sstream>

namespace collwatch::test {

namespace {

/// A copy, in which the token files have the permissions that version control does not keep.
class CopiedCases {
 public:
  CopiedCases() {
    std::string name = std::filesystem::temp_directory_path() / "collwatch-cases-XXXXXX";
    if (mkdtemp(name.data()) == nullptr) std::abort();
    folder_ = name;
    for (const auto& entry : std::filesystem::directory_iterator(kSource)) {
      const auto copy = folder_ / entry.path().filename();
      std::filesystem::copy_file(entry.path(), copy);
      std::filesystem::permissions(copy, std::filesystem::perms(0600));
    }
  }
  ~CopiedCases() { std::filesystem::remove_all(folder_); }
  std::string folder() const { return folder_.string() + "/"; }

 private:
  static constexpr const char* kSource = COLLWATCH_SOURCE_DIR "/tests/cases/config";
  std::filesystem::path folder_;
};

}  // namespace

std::string cases_folder() {
  static const CopiedCases cases;
  return cases.folder();
}

std::vector<std::string> config_cases() {
  std::vector<std::string> names;
  for (const auto& entry : std::filesystem::directory_iterator(cases_folder())) {
    if (entry.path().extension() == ".expected") names.push_back(entry.path().stem().string());
  }
  std::sort(names.begin(), names.end());
  return names;
}

std::string read_text(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

config::Host case_host() {
  return {"this-host", {{"lo", {"127.0.0.1", "::1"}}, {"eth0", {"10.0.0.1", "fe80::1"}}}};
}

config::Sources case_sources(const std::string& name) {
  config::Sources sources;
  sources.file = cases_folder() + name + ".yaml";
  sources.host = case_host();
  std::istringstream lines(read_text(sources.file));
  for (std::string line; std::getline(lines, line);) {
    const auto directive = [&](const std::string& word, auto& into) {
      if (!line.starts_with(word)) return;
      const std::size_t equals = line.find('=');
      into[line.substr(word.size(), equals - word.size())] = line.substr(equals + 1);
    };
    directive("#env: ", sources.environment);
    directive("#flag: ", sources.flags);
  }
  return sources;
}

}  // namespace collwatch::test
