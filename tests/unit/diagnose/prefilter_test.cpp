// SPDX-License-Identifier: Apache-2.0
//
// The fast way through a log finds what the slow one finds: blocks searched for literals, lines
// that hold none passed over, against each line alone with every expression tried on it.
#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <random>

#include "daemon/diagnose/collector.h"
#include "tests/support/catch.h"
#include "tests/unit/diagnose/cases.h"

using namespace collwatch;
using namespace collwatch::diagnose;

namespace {

const Patterns& slow() {
  static const Patterns built = [] {
    auto patterns = Patterns::build(engine().catalogue(), match::Prefilter::off);
    REQUIRE(patterns);
    return std::move(*patterns);
  }();
  return built;
}

FileFacts fast_facts(const std::string& text) {
  Collector collector(engine().patterns(), 0, {});
  logs::LineBlocks blocks(logs::bytes_of(text));
  for (;;) {
    const auto block = blocks.next();
    REQUIRE(block);
    collector.add(*block);
    if (block->is_last) return collector.finish();
  }
}

FileFacts slow_facts(std::string text) {
  text.resize(logs::clean(text.data(), text.size()));
  Collector collector(slow(), 0, {});
  for (std::size_t start = 0; start < text.size();) {
    const std::size_t end = std::min(text.find('\n', start), text.size() - 1) + 1;
    logs::Block block;
    block.text = std::string_view(text).substr(start, end - start);
    block.ends_line = block.text.back() == '\n';
    block.is_last = end == text.size();
    collector.add(block);
    start = end;
  }
  return collector.finish();
}

std::string shown(const Event& event) {
  std::string text = std::to_string(event.place.line) + " " + event.pattern + " <" + event.text +
                     "> op " + event.op + " code " + event.code + (event.is_strong ? " !" : "") +
                     (event.is_exception ? " exception" : "");
  if (event.who.rank) text += " rank " + std::to_string(*event.who.rank);
  for (const auto& [name, value] : event.fields) text.append(" " + name + "=").append(value);
  return text;
}

std::vector<std::string> findings(const FileFacts& facts) {
  std::vector<std::string> all;
  for (const Event& event : facts.events) all.push_back(shown(event));
  for (const Exit& exit : facts.exits) {
    all.push_back("exit " + std::to_string(exit.place.line) + " " + std::to_string(exit.code) +
                  " " + exit.text);
  }
  for (const Place& place : facts.restarts) all.push_back("restart " + std::to_string(place.line));
  for (const long pid : facts.terminated) all.push_back("terminated " + std::to_string(pid));
  all.push_back("world " + std::to_string(facts.world.value_or(-1)));
  all.push_back("lines " + std::to_string(facts.lines));
  return all;
}

void check_same(const std::string& text) {
  const std::vector<std::string> fast = findings(fast_facts(text));
  const std::vector<std::string> reference = findings(slow_facts(text));
  const auto differ = std::mismatch(fast.begin(), fast.end(), reference.begin(), reference.end());
  INFO("fast " << fast.size() << ": " << (differ.first == fast.end() ? "-" : *differ.first));
  INFO("slow " << reference.size() << ": "
               << (differ.second == reference.end() ? "-" : *differ.second));
  CHECK((differ.first == fast.end() && differ.second == reference.end()));
}

std::vector<std::string> examples() {
  std::vector<std::string> all;
  for (const catalogue::Pattern& pattern : engine().catalogue().patterns()) {
    for (const std::string& example : pattern.examples) {
      if (example.find('\n') == std::string::npos) all.push_back(example);
    }
  }
  return all;
}

/// So much that from here on only lines with something in them are looked at.
std::string long_beginning() {
  std::string text;
  while (text.size() < (std::size_t{5} << 20)) text += std::string(60000, '.') + "\n";
  return text;
}

/// Where lines are passed over, an untagged one may be taken for that of an earlier writer: there
/// every line says whose it is.
enum class Tags { some, all };

std::string generated(unsigned seed, int lines, Tags tags) {
  static const std::vector<std::string> known = examples();
  static const std::vector<std::string> ordinary = {
      "step 1 | loss 2.3 | lr 3e-4",
      "[rank 3] iteration 7 elapsed time per iteration (ms): 812.4",
      "saving checkpoint",
      "",
      "  File \"train.py\", line 3, in main",
      "Traceback (most recent call last):",
      "ValueError: no",
      " 45%|####5     | 4/9\r 50%|#####  | 5/9",
      "[PG ID 0 PG GUID 0(default_pg) Rank 1] all is well, connected to peers"};
  static const std::vector<std::string> prefixes = {"",
                                                    "[rank1]: ",
                                                    " 3: ",
                                                    "2026-11-30 05:05:45,842 ",
                                                    "[default2]:[rank2]: ",
                                                    "(RayTrainWorker pid=77, ip=10.0.0.7) ",
                                                    "\x1b[31m[rank0]:\x1b[0m ",
                                                    "node-b | "};
  std::mt19937 random(seed);
  const auto any = [&](const std::vector<std::string>& of) { return of[random() % of.size()]; };
  std::string text;
  for (int i = 0; i < lines; ++i) {
    const std::string prefix =
        tags == Tags::some ? any(prefixes) : "[rank" + std::to_string(random() % 4) + "]: ";
    std::string line = (random() % 20 < 9 ? any(known) : any(ordinary));
    if (random() % 8 == 0 && !line.empty()) line[random() % line.size()] ^= 0x20;
    if (random() % 8 == 0) line.resize(random() % (line.size() + 1));
    std::replace(line.begin(), line.end(), '\n', ' ');
    text += prefix + line + (random() % 9 == 0 ? "\r\n" : "\n");
  }
  return text;
}

}  // namespace

TEST_CASE("generated logs: the prefilter and passing over lines change no finding") {
  for (unsigned seed = 1; seed <= 4; ++seed) {
    INFO("seed " << seed);
    check_same(generated(seed, 500, Tags::some));
    check_same(long_beginning() + generated(seed + 100, 500, Tags::all));
  }
}

/// The cases, and any folder that COLLWATCH_TEST_LOGS names.
TEST_CASE("real logs: the prefilter changes no finding") {
  std::vector<std::filesystem::path> folders;
  for (const Case& one : cases()) folders.push_back(one.logs);
  if (const char* more = std::getenv("COLLWATCH_TEST_LOGS")) folders.emplace_back(more);
  for (const auto& folder : folders) {
    for (const auto& entry : std::filesystem::recursive_directory_iterator(folder)) {
      if (!entry.is_regular_file()) continue;
      INFO(entry.path().string());
      check_same(read_file(entry.path()));
    }
  }
}
