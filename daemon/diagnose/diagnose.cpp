// SPDX-License-Identifier: Apache-2.0
//
// Reading all sources, then concluding.
#include "daemon/diagnose/diagnose.h"

#include <algorithm>
#include <chrono>

#include "daemon/diagnose/collector.h"
#include "daemon/diagnose/conclude.h"

namespace collwatch::diagnose {

model::Result<Engine> Engine::build(catalogue::Catalogue catalogue) {
  auto patterns = Patterns::build(catalogue);
  if (!patterns) return model::fail(patterns.error());
  Engine engine;
  engine.catalogue_ = std::move(catalogue);
  engine.patterns_ = std::move(*patterns);
  return engine;
}

model::Result<FileFacts> Engine::read(const logs::Source& source,
                                      std::unique_ptr<logs::Bytes> bytes, int file, long before,
                                      const Progress& progress) const {
  Collector collector(patterns_, file, source);
  logs::LineBlocks blocks(std::move(bytes));
  for (;;) {
    const auto block = blocks.next();
    if (!block) return model::fail(block.error());
    if (blocks.looks_binary()) {
      FileFacts facts = collector.finish();
      facts.is_binary = true;
      facts.damage = blocks.damage();
      return facts;
    }
    collector.add(*block);
    if (block->is_last) break;
    if (progress && !progress(before + blocks.bytes_read()))
      return model::fail(model::ErrorCode::timeout, "stopped before the end of " + source.name);
  }
  FileFacts facts = collector.finish();
  facts.damage = blocks.damage();
  return facts;
}

Diagnosis Engine::conclude(std::vector<FileFacts> files,
                           std::chrono::steady_clock::time_point start) const {
  Diagnosis diagnosis = diagnose::conclude(build_job(std::move(files)), catalogue_);
  diagnosis.scanned.seconds =
      std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  return diagnosis;
}

model::Result<Diagnosis> Engine::run(std::vector<logs::Source> sources,
                                     const Progress& progress) const {
  const auto start = std::chrono::steady_clock::now();
  // The verdict must not depend on the order in which files are named.
  std::stable_sort(sources.begin(), sources.end(),
                   [](const logs::Source& a, const logs::Source& b) {
                     const int first = a.hint.attempt.value_or(0);
                     const int second = b.hint.attempt.value_or(0);
                     return first != second ? first < second : a.name < b.name;
                   });
  std::vector<FileFacts> files;
  long bytes = 0;
  for (const logs::Source& source : sources) {
    auto opened = logs::open_bytes(source);
    if (!opened) return model::fail(opened.error());
    auto facts = read(source, std::move(*opened), static_cast<int>(files.size()), bytes, progress);
    if (!facts) return model::fail(facts.error());
    bytes += facts->bytes;
    files.push_back(std::move(*facts));
  }
  return conclude(std::move(files), start);
}

model::Result<Diagnosis> Engine::run_inputs(std::vector<Input> inputs,
                                            const Progress& progress) const {
  const auto start = std::chrono::steady_clock::now();
  std::vector<FileFacts> files;
  long bytes = 0;
  for (Input& input : inputs) {
    auto facts =
        read(input.source, std::move(input.bytes), static_cast<int>(files.size()), bytes, progress);
    if (!facts) return model::fail(facts.error());
    bytes += facts->bytes;
    files.push_back(std::move(*facts));
  }
  return conclude(std::move(files), start);
}

model::Result<Diagnosis> Engine::run_text(const std::string& text, const std::string& name) const {
  std::vector<Input> inputs(1);
  inputs[0].source.name = name;
  inputs[0].source.hint = logs::hint_from_path(name);
  inputs[0].bytes = logs::bytes_of(text);
  return run_inputs(std::move(inputs));
}

}  // namespace collwatch::diagnose
