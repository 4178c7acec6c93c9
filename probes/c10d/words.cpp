// SPDX-License-Identifier: Apache-2.0
//
// Cuts, and replaces what changes from run to run.
#include "probes/c10d/words.h"

#include <cctype>

namespace collwatch::c10d_probe {
namespace {

constexpr std::size_t kMost = 300;

bool is_digit(char c) {
  return std::isdigit(static_cast<unsigned char>(c)) != 0;
}

}  // namespace

std::string first_words(std::string_view text) {
  while (!text.empty() && std::isspace(static_cast<unsigned char>(text.front())) != 0) {
    text.remove_prefix(1);
  }
  const std::size_t line = text.find('\n');
  if (line != std::string_view::npos) text = text.substr(0, line);
  std::string words;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const bool is_after_address =
        i >= 2 && text[i - 1] == ':' && (text[i - 2] == ']' || is_digit(text[i - 2]));
    const bool is_after_fd = i >= 3 && text.substr(i - 3, 3) == "fd=";
    if (is_digit(text[i]) && (is_after_address || is_after_fd)) {
      while (i + 1 < text.size() && is_digit(text[i + 1])) ++i;
      words += 'N';
    } else {
      words += text[i];
    }
  }
  if (words.size() > kMost) words.resize(kMost);
  while (!words.empty() && words.back() == ' ') words.pop_back();
  return words;
}

}  // namespace collwatch::c10d_probe
