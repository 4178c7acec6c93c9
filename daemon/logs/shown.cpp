// SPDX-License-Identifier: Apache-2.0
//
// Character by character.
#include "daemon/logs/shown.h"

#include <algorithm>
#include <array>
#include <cstdio>

namespace collwatch::logs {
namespace {

unsigned code_at(std::string_view text, std::size_t at, std::size_t length) {
  const auto byte = [&](std::size_t i) { return static_cast<unsigned char>(text[i]); };
  if (length == 1) return byte(at);
  unsigned value = byte(at) & (0xffU >> (length + 1));
  for (std::size_t i = 1; i < length; ++i) value = (value << 6) | (byte(at + i) & 0x3fU);
  return value;
}

/// C0, DEL, C1; line and paragraph separators; marks that reorder or hide what stands around them.
bool is_hidden(unsigned code) {
  return code < 0x20 || (code >= 0x7f && code <= 0x9f) || code == 0x61c || code == 0x200e ||
         code == 0x200f || (code >= 0x2028 && code <= 0x202e) ||
         (code >= 0x2066 && code <= 0x2069) || code == 0xfeff;
}

std::string escape(unsigned code, bool is_byte) {
  if (code == '\n') return "\\n";
  if (code == '\r') return "\\r";
  if (code == '\t') return "\\t";
  std::array<char, 16> text{};
  std::snprintf(text.data(), text.size(), is_byte || code < 0x80 ? "\\x%02x" : "\\u{%x}", code);
  return text.data();
}

}  // namespace

std::size_t utf8_length(std::string_view text, std::size_t at) {
  const auto byte = [&](std::size_t i) { return static_cast<unsigned char>(text[i]); };
  const unsigned char first = byte(at);
  const std::size_t length = first < 0x80           ? 1
                             : (first >> 5) == 0x06 ? 2
                             : (first >> 4) == 0x0e ? 3
                             : (first >> 3) == 0x1e ? 4
                                                    : 0;
  if (length == 0 || at + length > text.size()) return 0;
  for (std::size_t i = 1; i < length; ++i) {
    if ((byte(at + i) >> 6) != 0x02) return 0;
  }
  const unsigned value = code_at(text, at, length);
  const bool overlong = (length == 2 && value < 0x80) || (length == 3 && value < 0x800) ||
                        (length == 4 && (value < 0x10000 || value > 0x10ffff));
  const bool surrogate = value >= 0xd800 && value <= 0xdfff;
  return overlong || surrogate ? 0 : length;
}

std::string shown(std::string_view text, Lines lines) {
  std::string out;
  out.reserve(text.size());
  for (std::size_t i = 0; i < text.size();) {
    const std::size_t length = utf8_length(text, i);
    const unsigned code =
        length == 0 ? static_cast<unsigned char>(text[i]) : code_at(text, i, length);
    if (length == 0 || (is_hidden(code) && (code != '\n' || lines == Lines::escape))) {
      out += escape(code, length == 0);
    } else {
      out.append(text.substr(i, length));
    }
    i += std::max<std::size_t>(length, 1);
  }
  return out;
}

}  // namespace collwatch::logs
