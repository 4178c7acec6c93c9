// SPDX-License-Identifier: Apache-2.0
//
// Three small outputs. Each line is one write, so that a reader behind a pipe sees it at once.
#include "daemon/demo/output.h"

#include <unistd.h>

#include <optional>

namespace collwatch::demo {
namespace {

class Lines : public Output {
 public:
  void note(const Note& note) override { put(line_of(note)); }
  void finish(const std::string& sentence, const std::vector<std::string>& misses,
              const std::string&) override {
    put("\n" + sentence);
    for (const std::string& miss : misses) put("not as expected: " + miss);
  }
};

class JsonLines : public Output {
 public:
  void note(const Note& note) override { put(json_of(note)); }
  void finish(const std::string& sentence, const std::vector<std::string>& misses,
              const std::string& summary) override {
    for (const std::string& miss : misses) put(json_of(plain_note("miss", miss)));
    put(json_of(plain_note("end", sentence)));
    put(summary);
  }
};

class LiveTable : public Output {
 public:
  LiveTable() : terminal_(std::in_place, STDOUT_FILENO) {}
  void note(const Note&) override {}  // the next frame has it
  void frame(const Scene& scene) override { terminal_->show(paint(scene, terminal_->canvas())); }
  void finish(const std::string& sentence, const std::vector<std::string>& misses,
              const std::string&) override {
    terminal_.reset();
    put("\n" + sentence);
    for (const std::string& miss : misses) put("not as expected: " + miss);
  }

 private:
  std::optional<Terminal> terminal_;
};

}  // namespace

std::unique_ptr<Output> make_output(bool json) {
  if (json) return std::make_unique<JsonLines>();
  if (isatty(STDOUT_FILENO) == 1) return std::make_unique<LiveTable>();
  return std::make_unique<Lines>();
}

}  // namespace collwatch::demo
