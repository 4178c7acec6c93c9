// SPDX-License-Identifier: Apache-2.0
//
// Python tracebacks put together from lines that come one by one, possibly with those of other
// writers in between: one Tracebacks for each writer. Says when an exception is complete, which
// collective it was raised in and where in the user's own code. Used by the collector.
#pragma once

#include <string>
#include <string_view>

namespace collwatch::diagnose {

class Tracebacks {
 public:
  /// What a line was to the traceback.
  enum class Part {
    none,      ///< not part of one
    body,      ///< a frame, source text, a marker
    exception  ///< the last line: "ValueError: ..."
  };

  /// "Traceback (most recent call last):" was seen.
  void begin();

  /// "During handling of ...": what comes next is a consequence of what came before.
  void chain() { chained_ = true; }

  Part add(std::string_view line);

  bool is_open() const { return open_; }
  bool is_chained() const { return chained_now_; }
  const std::string& op() const { return op_; }
  /// Whether the process group was not yet made.
  bool is_starting() const { return is_starting_; }
  const std::string& code() const { return code_; }

 private:
  void frame(std::string_view line);

  bool open_ = false;
  bool chained_ = false;      ///< the next traceback is a consequence
  bool chained_now_ = false;  ///< the one that is open is
  bool is_starting_ = false;
  int lines_ = 0;
  std::string op_;
  std::string code_;
};

/// Whether a line has the shape of a traceback's last line: a dotted name, then nothing or a colon
/// and a text.
bool is_exception_line(std::string_view line);

/// The class's own name: "DistStoreError" of "torch.distributed.DistStoreError: text".
std::string_view exception_class(std::string_view line);

}  // namespace collwatch::diagnose
