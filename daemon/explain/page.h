// SPDX-License-Identifier: Apache-2.0
//
// A page of text for a terminal of 80 columns: headings, wrapped paragraphs, commands as they are.
// Used by text.cpp.
#pragma once

#include <cstddef>
#include <string>

namespace collwatch::explain {

inline constexpr std::size_t kColumns = 80;

class Page {
 public:
  explicit Page(bool colour) : colour_(colour) {}

  void heading(const std::string& text);
  /// Wrapped; lines after the first are indented by `indent`, the first begins with `lead`, which
  /// is padded to that.
  void paragraph(const std::string& lead, std::size_t indent, const std::string& text);
  /// Not wrapped, so that it can be copied.
  void command(const std::string& line);
  void line(const std::string& text) { out_ += text + "\n"; }
  std::string bold(const std::string& text) const;

  const std::string& text() const { return out_; }

 private:
  bool colour_;
  std::string out_;
};

}  // namespace collwatch::explain
