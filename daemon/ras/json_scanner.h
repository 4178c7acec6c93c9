// SPDX-License-Identifier: Apache-2.0
//
// JSON as it arrives, in pieces of any size, without keeping it: a report of a large job is longer
// than the memory that the watcher may hold. Forgiving where NCCL errs: 2.28.7 to 2.28.9 leave out
// a comma, so commas are neither needed nor looked at. Bounded in depth and in what is kept of a
// string. Never throws; used by json_report.cpp.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace collwatch::ras {

class JsonScanner {
 public:
  static constexpr std::size_t kDeepest = 16;
  static constexpr std::size_t kLongestKept = 256;

  /// What the scanner meets, in order. `key` is empty inside arrays.
  class Handler {
   public:
    virtual ~Handler() = default;
    virtual void on_open(const std::string& key, bool is_array) = 0;
    virtual void on_close() = 0;
    /// A string, or a number, true, false or null by its letters.
    virtual void on_value(const std::string& key, const std::string& text, bool is_string) = 0;
  };

  explicit JsonScanner(Handler& handler) : handler_(handler) {}

  void add(std::string_view bytes);
  /// One whole value was seen and nothing was wrong with it.
  bool is_complete() const { return done_ && !broken_; }
  bool is_broken() const { return broken_; }

 private:
  enum class Within { nothing, text, escape, unicode, word };

  void on_byte(char c);
  void on_structure(char c);
  void add_to_text(char c);
  void end_word();
  void end_text();
  void open(bool is_array);
  void close(bool is_array);
  void keep(char c);

  Handler& handler_;
  std::vector<bool> arrays_;  ///< of what is open, outermost first
  std::string key_;
  bool has_key_ = false;  ///< key_ is complete, its value comes
  bool wants_colon_ = false;
  std::string text_;
  Within within_ = Within::nothing;
  int unicode_left_ = 0;
  bool done_ = false;
  bool broken_ = false;
};

}  // namespace collwatch::ras
