// SPDX-License-Identifier: Apache-2.0
//
// Wrapping at blanks. A word longer than the line stays whole.
#include "daemon/explain/page.h"

#include <sstream>

namespace collwatch::explain {

std::string Page::bold(const std::string& text) const {
  return colour_ ? "\x1b[1m" + text + "\x1b[0m" : text;
}

void Page::heading(const std::string& text) {
  out_ += "\n" + bold(text) + "\n";
}

void Page::paragraph(const std::string& lead, std::size_t indent, const std::string& text) {
  std::string line = lead;
  if (line.size() < indent) line.append(indent - line.size(), ' ');
  if (line.size() > indent) line += ' ';
  bool empty = true;
  std::istringstream words(text);
  for (std::string word; words >> word;) {
    if (!empty && line.size() + 1 + word.size() > kColumns) {
      out_ += line + "\n";
      line.assign(indent, ' ');
      empty = true;
    }
    line += (empty ? "" : " ") + word;
    empty = false;
  }
  out_ += line + "\n";
}

void Page::command(const std::string& line) {
  out_ += "    " + line + "\n";
}

}  // namespace collwatch::explain
