// SPDX-License-Identifier: Apache-2.0
//
// Any bytes as the logs of a job: files are separated by 0x1e, each plain, gzip or zstd.
// Properties: no crash, no hang, little memory; peeling leaves the end of the line; the prefilter
// loses no match; whatever comes out can be printed in every format, redacted or not. Seeds lie in
// corpus/; a crash found belongs there, too.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "daemon/diagnose/diagnose.h"
#include "daemon/diagnose/print.h"
#include "daemon/logs/line_blocks.h"

using namespace collwatch;

namespace {

constexpr char kNextFile = '\x1e';
constexpr std::size_t kMostFiles = 4;
constexpr std::size_t kSmall = 256;  ///< bytes for which trying all expressions is quick enough

const diagnose::Engine& engine() {
  static const diagnose::Engine made = [] {
    auto catalogue = catalogue::Catalogue::built_in();
    COLLWATCH_ASSERT(catalogue);
    auto engine = diagnose::Engine::build(std::move(*catalogue));
    COLLWATCH_ASSERT(engine);
    return std::move(*engine);
  }();
  return made;
}

std::vector<std::string> files_of(std::string_view input) {
  std::vector<std::string> files;
  while (files.size() + 1 < kMostFiles && input.find(kNextFile) != std::string_view::npos) {
    files.emplace_back(input.substr(0, input.find(kNextFile)));
    input.remove_prefix(files.back().size() + 1);
  }
  files.emplace_back(input);
  return files;
}

void check_line(std::string_view line, bool check_prefilter) {
  logs::Who who;
  const std::string_view rest = logs::peel(line, who);
  // rich's boxes close on the right as well: what is left is part of the line, wherever it lies.
  COLLWATCH_ASSERT(rest.data() >= line.data() &&
                   rest.data() + rest.size() <= line.data() + line.size());
  COLLWATCH_ASSERT(logs::printable(line).size() <= 3 * 400 + 3);
  if (!check_prefilter) return;
  const diagnose::Patterns& patterns = engine().patterns();
  std::vector<match::Candidate> found;
  patterns.matcher().candidates(line, found);
  for (int i = 0; i < patterns.count(); ++i) {
    const auto& beside = patterns.beside();
    if (std::count(beside.begin(), beside.end(), i) != 0) continue;
    const bool is_candidate = std::any_of(found.begin(), found.end(),
                                          [i](const auto& one) { return one.expression == i; });
    COLLWATCH_ASSERT(is_candidate || !patterns.matcher().matches(i, line));
  }
}

/// In blocks as small as they get, so that their borders lie everywhere.
void check_blocks(const std::string& bytes) {
  auto decoded = logs::decoded(logs::bytes_of(bytes));
  if (!decoded) return;
  logs::LineBlocks blocks(std::move(*decoded), 256);
  long given = 0;
  for (;;) {
    const auto block = blocks.next();
    if (!block) return;
    given += static_cast<long>(block->text.size());
    COLLWATCH_ASSERT(given <= blocks.bytes_read());
    for (std::size_t start = 0; start < block->text.size();) {
      const std::size_t end = std::min(block->text.find('\n', start), block->text.size());
      check_line(block->text.substr(start, end - start), bytes.size() < kSmall);
      start = end + 1;
    }
    if (block->is_last) return;
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  std::vector<diagnose::Input> inputs;
  for (const std::string& bytes : files_of({reinterpret_cast<const char*>(data), size})) {
    check_blocks(bytes);
    auto decoded = logs::decoded(logs::bytes_of(bytes));
    if (!decoded) continue;
    diagnose::Input input;
    input.source.name = "rank" + std::to_string(inputs.size()) + ".log";
    input.source.hint = logs::hint_from_path(size % 2 == 0 ? input.source.name : "job.out");
    input.bytes = std::move(*decoded);
    inputs.push_back(std::move(input));
  }
  auto diagnosis = engine().run_inputs(std::move(inputs));
  if (!diagnosis) {
    COLLWATCH_ASSERT(!diagnosis.error().text.empty());
    return 0;
  }
  // Redaction learns from every text of the catalogue and is half of the time: one input in four.
  const int rounds = size % 4 == 0 ? 2 : 1;
  for (int redacted = 0; redacted < rounds; ++redacted) {
    COLLWATCH_ASSERT(!diagnose::to_json(*diagnosis).empty());
    COLLWATCH_ASSERT(!diagnose::to_text(*diagnosis, engine().catalogue(), true).empty());
    COLLWATCH_ASSERT(!diagnose::to_markdown(*diagnosis, engine().catalogue()).empty());
    diagnose::redact(*diagnosis);
  }
  return 0;
}
