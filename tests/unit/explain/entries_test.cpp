// SPDX-License-Identifier: Apache-2.0
//
// Every fingerprint has a complete entry, and a page of it is readable.
#include <algorithm>
#include <set>
#include <sstream>

#include "daemon/diagnose/conclude.h"
#include "daemon/explain/page.h"
#include "daemon/explain/print.h"
#include "tests/support/catch.h"

namespace {

using namespace collwatch;
using catalogue::Entry;

const std::vector<Entry>& entries() {
  static const auto kCatalogue = catalogue::Catalogue::built_in();
  if (!kCatalogue) FAIL(kCatalogue.error().text);
  return kCatalogue->entries();
}

const catalogue::Catalogue& built_in() {
  static const auto kCatalogue = catalogue::Catalogue::built_in();
  return *kCatalogue;
}

/// {rank} and the like: what a diagnosis cannot fill in would be printed as it stands.
std::set<std::string> placeholders(const std::string& text) {
  std::set<std::string> found;
  for (std::size_t at = text.find('{'); at != std::string::npos; at = text.find('{', at + 1)) {
    const std::size_t end = text.find_first_not_of("abcdefghijklmnopqrstuvwxyz_", at + 1);
    if (end != std::string::npos && text[end] == '}' && end > at + 1) {
      found.insert(text.substr(at + 1, end - at - 1));
    }
  }
  return found;
}

std::vector<std::string> lines_of(const std::string& text) {
  std::vector<std::string> lines;
  std::istringstream in(text);
  for (std::string line; std::getline(in, line);) lines.push_back(line);
  return lines;
}

}  // namespace

TEST_CASE("every entry is complete") {
  REQUIRE(entries().size() == model::kCount<model::Fingerprint>);
  for (const Entry& entry : entries()) {
    CAPTURE(std::string(model::name(entry.id)));
    for (const std::string* text :
         {&entry.title, &entry.layer, &entry.symptom, &entry.mechanism, &entry.fix, &entry.takes,
          &entry.verify, &entry.prevention, &entry.executive, &entry.engineer, &entry.on_call}) {
      CHECK_FALSE(text->empty());
    }
    CHECK(entry.causes.size() >= 3);
    for (const catalogue::Cause& cause : entry.causes) CHECK_FALSE(cause.evidence.empty());
    CHECK_FALSE(entry.references.empty());
    CHECK_FALSE(entry.environment.empty());
    CHECK(entry.phrases.size() >= 3);
    CHECK_FALSE(entry.patterns.empty());
    for (const char* framework : {"PyTorch", "HF Trainer/Accelerate", "Lightning", "DeepSpeed",
                                  "Megatron-LM", "vLLM", "Ray"}) {
      CAPTURE(framework);
      CHECK(entry.frameworks.count(framework) == 1);
    }
    CHECK(entry.frameworks.size() == 7);
  }
}

TEST_CASE("related entries are others") {
  for (const Entry& entry : entries()) {
    CAPTURE(std::string(model::name(entry.id)));
    CHECK_FALSE(entry.related.empty());
    CHECK(std::find(entry.related.begin(), entry.related.end(), entry.id) == entry.related.end());
  }
}

TEST_CASE("a line for a person is a line") {
  for (const Entry& entry : entries()) {
    CAPTURE(std::string(model::name(entry.id)));
    CHECK(entry.title.size() <= 80);
    for (const std::string* text : {&entry.executive, &entry.engineer, &entry.on_call}) {
      CHECK(text->size() <= 240);
      CHECK(text->find('\n') == std::string::npos);
    }
  }
}

TEST_CASE("placeholders are those that a diagnosis fills in") {
  const std::set<std::string> known = {"rank", "host",  "interface", "op",
                                       "peer", "group", "file",      "pid"};
  for (const Entry& entry : entries()) {
    for (const std::string& text : {entry.fix, entry.verify, entry.prevention, entry.on_call}) {
      for (const std::string& name : placeholders(text)) {
        CAPTURE(std::string(model::name(entry.id)), name);
        CHECK(known.count(name) == 1);
      }
    }
  }
}

TEST_CASE("a page fits 80 columns but for commands, and no placeholder is left in it") {
  for (const Entry& entry : entries()) {
    const std::vector<std::string> commands = lines_of(diagnose::fill(entry.verify, {}));
    for (const std::string& line : lines_of(explain::entry_text(entry, false))) {
      CAPTURE(std::string(model::name(entry.id)), line);
      CHECK(placeholders(line).empty());
      if (line.size() <= explain::kColumns) continue;
      // A command is shown as it is, an address too.
      const bool is_address = line.find("https://") != std::string::npos;
      const bool is_command =
          std::find(commands.begin(), commands.end(), line.substr(4)) != commands.end();
      CHECK((is_address || is_command));
    }
  }
}

TEST_CASE("the first screen says what to do and how to tell the causes apart") {
  for (const Entry& entry : entries()) {
    const std::string page = explain::entry_text(entry, false);
    CAPTURE(page);
    const std::size_t on_call = page.find("\nOn call\n");
    const std::size_t causes = page.find("\nCauses, and what tells them apart\n");
    const std::size_t verify = page.find("\nVerify\n");
    REQUIRE(on_call != std::string::npos);
    REQUIRE(causes != std::string::npos);
    REQUIRE(verify != std::string::npos);
    CHECK(on_call < causes);
    CHECK(causes < verify);
    CHECK(verify < page.find("\nHow it comes about\n"));
  }
}

TEST_CASE("colour is only where it was asked for") {
  const Entry& entry = entries().front();
  CHECK(explain::entry_text(entry, false).find('\x1b') == std::string::npos);
  CHECK(explain::entry_text(entry, true).find("\x1b[1m") != std::string::npos);
}

TEST_CASE("the table lists all, the layer says what indicates what and which variables tell") {
  const std::string table = explain::table_text(built_in(), false);
  for (const Entry& entry : entries()) {
    CHECK(table.find("  " + std::string(model::name(entry.id)) + " ") != std::string::npos);
  }
  const std::string nccl = explain::layer_text(built_in(), "nccl", false);
  for (const char* text : {"nccl_remote_error\n", "  indicates ", "  go to ", "  told by ",
                           "ncclSystemError", "ncclUnhandledCudaError", "NCCL_IB_DISABLE=1"}) {
    CAPTURE(text);
    CHECK(nccl.find(text) != std::string::npos);
  }
  for (const std::string& line : lines_of(nccl)) CHECK(line.size() <= explain::kColumns);
}

TEST_CASE("markdown keeps every text of the entry") {
  for (const Entry& entry : entries()) {
    const std::string page = explain::entry_markdown(entry);
    std::size_t rows = 0;
    for (const std::string& line : lines_of(page)) {
      if (line.rfind("| ", 0) == 0 && line.find(" | `` ") != std::string::npos) ++rows;
    }
    std::size_t examples = 0;
    for (const auto& pattern : entry.patterns) examples += pattern.examples.size();
    CAPTURE(std::string(model::name(entry.id)));
    CHECK(rows == examples);
  }
}
