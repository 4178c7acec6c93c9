// SPDX-License-Identifier: Apache-2.0
//
// Durations, sizes and whole numbers. No locale, no exceptions, overflow checked.
#include "daemon/config/units.h"

#include <array>
#include <charconv>
#include <limits>
#include <string_view>

#include "daemon/config/tree.h"

namespace collwatch::config {
namespace {

struct Unit {
  std::string_view name;
  std::uint64_t factor;
};

constexpr std::array<Unit, 4> kDurations = {Unit{"ms", 1}, Unit{"s", 1000}, Unit{"m", 60000},
                                            Unit{"h", 3600000}};
constexpr std::array<Unit, 8> kSizes = {Unit{"", 1},
                                        Unit{"B", 1},
                                        Unit{"KiB", 1ULL << 10},
                                        Unit{"MiB", 1ULL << 20},
                                        Unit{"GiB", 1ULL << 30},
                                        Unit{"kB", 1000},
                                        Unit{"MB", 1000000},
                                        Unit{"GB", 1000000000}};

model::Result<std::uint64_t> bad(const std::string& why) {
  return model::fail(model::ErrorCode::invalid_argument, why);
}

/// Digits, then one of `units`. `what` and `examples` make the sentence.
template <std::size_t N>
model::Result<std::uint64_t> parse_quantity(const std::string& text,
                                            const std::array<Unit, N>& units,
                                            const std::string& what, const std::string& examples) {
  std::uint64_t number = 0;
  const char* const end = text.data() + text.size();
  const auto [rest, status] = std::from_chars(text.data(), end, number);
  if (status == std::errc::result_out_of_range) return bad("'" + shown(text) + "' is too large");
  if (status != std::errc()) {
    return bad("'" + shown(text) + "' is not a " + what + "; write " + examples);
  }
  std::string_view suffix(rest, static_cast<std::size_t>(end - rest));
  while (!suffix.empty() && suffix.front() == ' ') suffix.remove_prefix(1);
  for (const Unit& unit : units) {
    if (unit.name != suffix) continue;
    constexpr std::uint64_t kMost = std::numeric_limits<std::int64_t>::max();
    if (number > kMost / unit.factor) return bad("'" + shown(text) + "' is too large");
    return number * unit.factor;
  }
  if (suffix.empty()) return bad("a " + what + " needs a unit; write " + examples);
  if (suffix.front() == '.') {
    return bad("'" + shown(text) + "' is not a whole number; write " + examples);
  }
  return bad("unknown unit '" + shown(std::string(suffix)) + "'; write " + examples);
}

}  // namespace

model::Result<Millis> parse_duration(const std::string& text) {
  const auto parsed = parse_quantity(text, kDurations, "duration", "500ms, 1s, 5m or 1h");
  if (!parsed) return model::fail(parsed.error());
  return Millis(static_cast<Millis::rep>(*parsed));
}

std::string format_duration(Millis duration) {
  const auto count = static_cast<std::uint64_t>(duration.count());
  for (std::size_t i = kDurations.size(); count > 0 && i-- > 0;) {
    if (count % kDurations[i].factor == 0) {
      return std::to_string(count / kDurations[i].factor) + std::string(kDurations[i].name);
    }
  }
  return std::to_string(count) + (count == 0 ? "s" : "ms");
}

model::Result<std::uint64_t> parse_size(const std::string& text) {
  return parse_quantity(text, kSizes, "size", "4, 1KiB, 64MiB or 20MB");
}

std::string format_size(std::uint64_t bytes) {
  for (const char* const name : {"GiB", "MiB", "KiB"}) {
    for (const Unit& unit : kSizes) {
      if (unit.name == name && bytes > 0 && bytes % unit.factor == 0) {
        return std::to_string(bytes / unit.factor) + name;
      }
    }
  }
  return std::to_string(bytes);
}

model::Result<std::int64_t> parse_integer(const std::string& text, std::int64_t least,
                                          std::int64_t most) {
  std::int64_t number = 0;
  const char* const end = text.data() + text.size();
  const auto [rest, status] = std::from_chars(text.data(), end, number);
  if (status != std::errc() || rest != end || number < least || number > most) {
    return model::fail(model::ErrorCode::invalid_argument,
                       "'" + shown(text) + "' is not a whole number from " + std::to_string(least) +
                           " to " + std::to_string(most));
  }
  return number;
}

}  // namespace collwatch::config
