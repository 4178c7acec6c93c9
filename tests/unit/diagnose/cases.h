// SPDX-License-Identifier: Apache-2.0
//
// The logs with known truth under tests/cases/diagnose, and what a diagnosis of them says. Used by
// the tests of the log engine.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "daemon/diagnose/diagnose.h"

namespace collwatch::diagnose {

struct Case {
  std::string name;
  std::filesystem::path logs;
  std::vector<std::string> accept;  ///< fingerprints that are right
  std::optional<int> rank;          ///< the initiating one
  bool completed = false;
};

std::vector<Case> cases();

/// One engine for all tests of the process.
const Engine& engine();

/// Diagnosis of files and folders; fails the test where they cannot be read.
Diagnosis diagnose_paths(const std::vector<std::string>& paths);

/// What must not depend on how the logs were collected.
std::pair<std::string, std::optional<int>> essence(const Diagnosis& diagnosis);

std::string read_file(const std::filesystem::path& path);

/// A folder that is removed at the end.
class TemporaryFolder {
 public:
  TemporaryFolder();
  ~TemporaryFolder();
  TemporaryFolder(const TemporaryFolder&) = delete;
  TemporaryFolder& operator=(const TemporaryFolder&) = delete;

  std::string write(const std::string& name, const std::string& text) const;
  const std::filesystem::path& path() const { return path_; }

 private:
  std::filesystem::path path_;
};

}  // namespace collwatch::diagnose
