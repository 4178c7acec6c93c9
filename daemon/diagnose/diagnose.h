// SPDX-License-Identifier: Apache-2.0
//
// The engine from end to end: sources in, diagnosis out. A pure library: it reads what it is given
// and nothing else. Used by `collwatch diagnose`, by the daemon, by POST /api/v1/diagnose.
#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "daemon/catalogue/catalogue.h"
#include "daemon/diagnose/budget.h"
#include "daemon/diagnose/diagnosis.h"
#include "daemon/diagnose/dumps.h"
#include "daemon/diagnose/facts.h"
#include "daemon/diagnose/patterns.h"
#include "daemon/logs/bytes.h"

namespace collwatch::diagnose {

/// A log whose bytes are at hand, whatever its source says about where they came from.
struct Input {
  logs::Source source;
  std::unique_ptr<logs::Bytes> bytes;
};

/// Compiled once, used for any number of diagnoses; not changed by them.
class Engine {
 public:
  /// `allowance` is for the patterns that come from users' own files.
  static model::Result<Engine> build(catalogue::Catalogue catalogue, Allowance allowance = {});

  /// Called now and then with the bytes read so far; false stops the run with an error.
  using Progress = std::function<bool(long bytes)>;

  /// Reads all sources. What of them cannot be read is missing evidence; an error only where that
  /// is all of them.
  model::Result<Diagnosis> run(std::vector<logs::Source> sources,
                               const Progress& progress = nullptr) const;

  /// The same over bytes that are already here.
  model::Result<Diagnosis> run_inputs(std::vector<Input> inputs,
                                      const Progress& progress = nullptr) const;

  /// And over one text, under the given name.
  model::Result<Diagnosis> run_text(const std::string& text, const std::string& name) const;

  const catalogue::Catalogue& catalogue() const { return catalogue_; }
  const Patterns& patterns() const { return patterns_; }

 private:
  using Open = std::function<model::Result<std::unique_ptr<logs::Bytes>>(std::size_t)>;
  model::Result<Diagnosis> run_all(const std::vector<const logs::Source*>& sources,
                                   const Open& open, const Progress& progress) const;
  model::Result<FileFacts> read(const logs::Source& source, std::unique_ptr<logs::Bytes> bytes,
                                int file, long before, const Progress& progress,
                                Budget& budget) const;
  Diagnosis conclude(std::vector<FileFacts> files, Dumps& dumps, const Budget& budget,
                     std::chrono::steady_clock::time_point start) const;

  catalogue::Catalogue catalogue_;
  Patterns patterns_;
  Allowance allowance_;
};

}  // namespace collwatch::diagnose
