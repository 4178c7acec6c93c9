// SPDX-License-Identifier: Apache-2.0
//
// Reading all sources, then concluding.
#include "daemon/diagnose/diagnose.h"

#include <algorithm>
#include <chrono>

#include "daemon/diagnose/collector.h"
#include "daemon/diagnose/conclude.h"

namespace collwatch::diagnose {
namespace {

constexpr std::size_t kMostNamed = 3;

/// Which patterns of users' own files were too slow to be tried on all lines; empty where none.
std::string stopped_patterns(const Budget& budget, const Patterns& patterns,
                             const std::vector<FileFacts>& files) {
  const std::vector<Budget::Stopped>& stopped = budget.stopped();
  if (stopped.empty()) return {};
  std::string text;
  for (std::size_t i = 0; i < std::min(stopped.size(), kMostNamed); ++i) {
    const catalogue::Pattern& pattern = *patterns.pattern(stopped[i].expression);
    const Place& place = stopped[i].place;
    text += (i == 0 ? "" : ", ") + pattern.id + " (" + pattern.origin + ") after " +
            files[static_cast<std::size_t>(place.file)].source.name + ":" +
            std::to_string(place.line);
  }
  if (stopped.size() > kMostNamed)
    text += " and " + std::to_string(stopped.size() - kMostNamed) + " others";
  return "patterns of your own that were too slow to be tried on all lines: " + text +
         "; a word of eight letters that must be in the line makes a pattern fast";
}

/// What went wrong, without the name of the file in front: it is said anyway.
std::string reason(const model::Error& error, const logs::Source& source) {
  const std::string front = source.name + ": ";
  return error.text.rfind(front, 0) == 0 ? error.text.substr(front.size()) : error.text;
}

}  // namespace

model::Result<Engine> Engine::build(catalogue::Catalogue catalogue, Allowance allowance) {
  auto patterns = Patterns::build(catalogue);
  if (!patterns) return model::fail(patterns.error());
  Engine engine;
  engine.catalogue_ = std::move(catalogue);
  engine.patterns_ = std::move(*patterns);
  engine.allowance_ = allowance;
  return engine;
}

model::Result<FileFacts> Engine::read(const logs::Source& source,
                                      std::unique_ptr<logs::Bytes> bytes, int file, long before,
                                      const Progress& progress, Budget& budget) const {
  Collector collector(patterns_, file, source, &budget);
  logs::LineBlocks blocks(std::move(bytes));
  for (;;) {
    const auto block = blocks.next();
    if (!block) {
      FileFacts facts = collector.finish();
      facts.damage = reason(block.error(), source);
      facts.is_unread = blocks.bytes_read() == 0;
      return facts;
    }
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

Diagnosis Engine::conclude(std::vector<FileFacts> files, Dumps& dumps, const Budget& budget,
                           std::chrono::steady_clock::time_point start) const {
  std::string stopped = stopped_patterns(budget, patterns_, files);
  Job job = build_job(std::move(files));
  dumps.join(job);
  Diagnosis diagnosis = diagnose::conclude(job, catalogue_);
  if (!stopped.empty()) diagnosis.verdict.missing_evidence.push_back(std::move(stopped));
  diagnosis.scanned.seconds =
      std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  return diagnosis;
}

model::Result<Diagnosis> Engine::run(std::vector<logs::Source> sources,
                                     const Progress& progress) const {
  // The verdict must not depend on the order in which files are named.
  std::stable_sort(sources.begin(), sources.end(),
                   [](const logs::Source& a, const logs::Source& b) {
                     const int first = a.hint.attempt.value_or(0);
                     const int second = b.hint.attempt.value_or(0);
                     return first != second ? first < second : a.name < b.name;
                   });
  std::vector<const logs::Source*> order;
  for (const logs::Source& source : sources) order.push_back(&source);
  return run_all(
      order, [&](std::size_t i) { return logs::open_bytes(sources[i]); }, progress);
}

model::Result<Diagnosis> Engine::run_inputs(std::vector<Input> inputs,
                                            const Progress& progress) const {
  std::vector<const logs::Source*> order;
  for (const Input& input : inputs) order.push_back(&input.source);
  return run_all(
      order,
      [&](std::size_t i) -> model::Result<std::unique_ptr<logs::Bytes>> {
        return std::move(inputs[i].bytes);
      },
      progress);
}

model::Result<Diagnosis> Engine::run_all(const std::vector<const logs::Source*>& sources,
                                         const Open& open, const Progress& progress) const {
  const auto start = std::chrono::steady_clock::now();
  Budget budget(patterns_, allowance_);
  Dumps dumps;
  std::vector<FileFacts> files;
  long bytes = 0;
  for (std::size_t i = 0; i < sources.size(); ++i) {
    const logs::Source& source = *sources[i];
    auto opened = open(i);
    if (opened) {
      const int file = static_cast<int>(files.size());
      Looked looked = look_for_dump(std::move(*opened), source.name);
      if (source.is_no_log && !looked.is_dump) continue;
      model::Result<FileFacts> facts =
          looked.is_dump
              ? model::Result<FileFacts>(dumps.read(source, std::move(looked.bytes), file))
              : read(source, std::move(looked.bytes), file, bytes, progress, budget);
      if (!facts) return model::fail(facts.error());
      bytes += facts->bytes;
      files.push_back(std::move(*facts));
    } else if (!source.is_no_log) {
      FileFacts facts;
      facts.source = source;
      facts.damage = reason(opened.error(), source);
      facts.is_unread = true;
      files.push_back(std::move(facts));
    }
  }
  if (files.empty() && !sources.empty())
    return model::fail(model::ErrorCode::not_found, "there is no log in what was given");
  if (!files.empty() && std::all_of(files.begin(), files.end(),
                                    [](const FileFacts& file) { return file.is_unread; })) {
    const std::string& first = files.front().source.name;
    return model::fail(model::ErrorCode::io, first + ": " + files.front().damage);
  }
  return conclude(std::move(files), dumps, budget, start);
}

model::Result<Diagnosis> Engine::run_text(const std::string& text, const std::string& name) const {
  std::vector<Input> inputs(1);
  inputs[0].source.name = name;
  inputs[0].source.hint = logs::hint_from_path(name);
  inputs[0].bytes = logs::bytes_of(text);
  return run_inputs(std::move(inputs));
}

}  // namespace collwatch::diagnose
