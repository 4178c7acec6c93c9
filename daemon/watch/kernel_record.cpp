// SPDX-License-Identifier: Apache-2.0
//
// The format is in the kernel's Documentation/ABI/testing/dev-kmsg.
#include "daemon/watch/kernel_record.h"

#include <algorithm>
#include <charconv>
#include <cstdio>

namespace collwatch::watch {
namespace {

constexpr int kHighestFacility = 127;

/// The number before the next comma or semicolon, taken off.
std::optional<std::int64_t> take_number(std::string_view& text) {
  std::int64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || value < 0 || end == text.data() + text.size()) return std::nullopt;
  if (*end != ',' && *end != ';') return std::nullopt;
  text.remove_prefix(static_cast<std::size_t>(end - text.data()));
  return value;
}

int hex(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  return -1;
}

std::string unescaped(std::string_view text) {
  std::string out;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const bool is_escape = text[i] == '\\' && i + 3 < text.size() && text[i + 1] == 'x' &&
                           hex(text[i + 2]) >= 0 && hex(text[i + 3]) >= 0;
    if (!is_escape) {
      out += text[i];
      continue;
    }
    const char byte = static_cast<char>(hex(text[i + 2]) * 16 + hex(text[i + 3]));
    out += byte == '\n' ? ' ' : byte;
    i += 3;
  }
  return out;
}

}  // namespace

std::optional<KernelRecord> parse_kernel_record(std::string_view record) {
  const std::size_t end = std::min(record.find('\n'), record.size());
  std::string_view head = record.substr(0, end);
  const std::size_t semicolon = head.find(';');
  if (semicolon == std::string_view::npos) return std::nullopt;
  const std::string_view message = head.substr(semicolon + 1);
  head = head.substr(0, semicolon + 1);
  const auto next = [&] { return !head.empty() && head.front() == ','; };
  const auto priority = take_number(head);
  if (!priority || *priority > kHighestFacility * 8 + 7 || !next()) return std::nullopt;
  head.remove_prefix(1);
  const auto sequence = take_number(head);
  if (!sequence || !next()) return std::nullopt;
  head.remove_prefix(1);
  const auto microseconds = take_number(head);
  if (!microseconds) return std::nullopt;
  KernelRecord parsed;
  parsed.level = static_cast<int>(*priority % 8);
  parsed.facility = static_cast<int>(*priority / 8);
  parsed.sequence = *sequence;
  parsed.microseconds = *microseconds;
  parsed.message = unescaped(message);
  return parsed;
}

std::string as_dmesg(const KernelRecord& record) {
  char time[48];
  std::snprintf(time, sizeof time, "[%5lld.%06lld] ",
                static_cast<long long>(record.microseconds / 1000000),
                static_cast<long long>(record.microseconds % 1000000));
  return time + record.message;
}

}  // namespace collwatch::watch
