// SPDX-License-Identifier: Apache-2.0
//
// One pass over the bytes: copy what is well-formed (RFC 3629: no surrogates, no overlong forms,
// nothing above U+10FFFF), replace the rest byte by byte.
#include "exporters/prometheus/utf8.h"

#include <cstddef>

namespace collwatch::exporters {
namespace {

unsigned byte_at(std::string_view text, std::size_t i) {
  return i < text.size() ? static_cast<unsigned char>(text[i]) : 0U;
}

bool continues(unsigned byte) {
  return (byte & 0xC0U) == 0x80U;
}

/// Length of the well-formed character at `i`, or 0.
std::size_t character_length(std::string_view text, std::size_t i) {
  const unsigned first = byte_at(text, i);
  const unsigned second = byte_at(text, i + 1);
  if (first < 0x80U) return 1;
  if (first < 0xC2U || first > 0xF4U || !continues(second)) return 0;
  if (first < 0xE0U) return 2;
  if (!continues(byte_at(text, i + 2))) return 0;
  if (first < 0xF0U) {
    if (first == 0xE0U && second < 0xA0U) return 0;  // overlong
    if (first == 0xEDU && second > 0x9FU) return 0;  // surrogate
    return 3;
  }
  if (!continues(byte_at(text, i + 3))) return 0;
  if (first == 0xF0U && second < 0x90U) return 0;  // overlong
  if (first == 0xF4U && second > 0x8FU) return 0;  // above U+10FFFF
  return 4;
}

}  // namespace

std::string valid_utf8(std::string_view text) {
  std::string out;
  out.reserve(text.size());
  for (std::size_t i = 0; i < text.size();) {
    const std::size_t length = character_length(text, i);
    if (length == 0) {
      out += "\xEF\xBF\xBD";
      ++i;
      continue;
    }
    out += text.substr(i, length);
    i += length;
  }
  return out;
}

}  // namespace collwatch::exporters
