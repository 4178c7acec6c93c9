// SPDX-License-Identifier: Apache-2.0
//
// Where the demo's notes and frames go: a live table on a terminal, plain lines otherwise, JSON
// objects with --json. The demo does not know which. Main thread only.
#pragma once

#include <memory>
#include <string>

#include "daemon/demo/notes.h"
#include "daemon/demo/screen.h"

namespace collwatch::demo {

class Output {
 public:
  virtual ~Output() = default;
  virtual void note(const Note& note) = 0;
  virtual void frame(const Scene&) {}
  /// The end: the sentence, one line for each thing that was missed, and the summary object.
  virtual void finish(const std::string& sentence, const std::vector<std::string>& misses,
                      const std::string& summary) = 0;
  /// Whoever read us has gone.
  bool broken() const { return broken_; }

 protected:
  void put(const std::string& line) {
    if (!write_all(1, line + "\n")) broken_ = true;
  }

 private:
  bool broken_ = false;
};

/// By what stdout is.
std::unique_ptr<Output> make_output(bool json);

}  // namespace collwatch::demo
