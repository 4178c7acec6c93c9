// SPDX-License-Identifier: Apache-2.0
//
// Recognising dumps, their names, and lists of members.
#include "daemon/flight/dump.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <charconv>
#include <cstddef>

namespace collwatch::flight {
namespace {

constexpr std::size_t kMostMembers = 65536;
constexpr std::string_view kNameMark = "trace_rank_";

bool is_digit(char c) {
  return c >= '0' && c <= '9';
}

bool holds(std::string_view text, std::string_view what) {
  return text.find(what) != std::string_view::npos;
}

std::string_view base_name(std::string_view name) {
  const std::size_t slash = name.rfind('/');
  return slash == std::string_view::npos ? name : name.substr(slash + 1);
}

struct Digits {
  std::size_t start = 0, end = 0;
};

/// The number after "trace_rank_", else the last one of the name before its ending.
std::optional<Digits> digits_of(std::string_view name) {
  const std::size_t base = name.size() - base_name(name).size();
  const std::size_t mark = name.rfind(kNameMark);
  Digits digits;
  if (mark != std::string_view::npos && mark >= base) {
    digits.start = digits.end = mark + kNameMark.size();
    while (digits.end < name.size() && is_digit(name[digits.end])) ++digits.end;
  } else {
    digits.end = name.size();
    while (digits.end > base && !is_digit(name[digits.end - 1])) --digits.end;
    digits.start = digits.end;
    while (digits.start > base && is_digit(name[digits.start - 1])) --digits.start;
  }
  const std::size_t length = digits.end - digits.start;
  if (length == 0 || length > 6) return std::nullopt;
  return digits;
}

/// The first key of what is one JSON object; empty where it is none.
std::string_view first_key(std::string_view head) {
  const auto skip = [&](std::size_t at) {
    while (at < head.size() && std::isspace(static_cast<unsigned char>(head[at])) != 0) ++at;
    return at;
  };
  std::size_t at = skip(0);
  if (at >= head.size() || head[at] != '{') return {};
  at = skip(at + 1);
  if (at >= head.size() || head[at] != '"') return {};
  const std::size_t end = head.find('"', at + 1);
  return end == std::string_view::npos ? std::string_view() : head.substr(at + 1, end - at - 1);
}

}  // namespace

const char* state_name(State state) {
  switch (state) {
    case State::scheduled:
      return "scheduled";
    case State::started:
      return "started";
    case State::completed:
      return "completed";
    case State::unknown:
      break;
  }
  return "state not known";
}

bool looks_like_dump(std::string_view head, std::string_view name) {
  static constexpr std::array<std::string_view, 8> kKeys = {
      "version",          "entries", "pg_config",    "pg_status",
      "comm_lib_version", "rank",    "nccl_version", "nccl_comm_state"};
  static constexpr std::array<std::string_view, 4> kTelling = {"pg_config", "collective_seq_id",
                                                               "pg_status", "profiling_name"};
  const bool is_named = holds(base_name(name), kNameMark);
  const bool tells = std::any_of(kTelling.begin(), kTelling.end(),
                                 [&](std::string_view one) { return holds(head, one); });
  if (head.size() >= 2 && head[0] == '\x80' && head[1] >= 2 && head[1] <= 5)
    return is_named || tells || (holds(head, "version") && holds(head, "entries"));
  const std::string_view key = first_key(head);
  return std::find(kKeys.begin(), kKeys.end(), key) != kKeys.end() && (is_named || tells);
}

std::optional<int> rank_of_name(std::string_view name) {
  const auto digits = digits_of(name);
  if (!digits) return std::nullopt;
  int rank = 0;
  std::from_chars(name.data() + digits->start, name.data() + digits->end, rank);
  return rank;
}

std::string name_for_rank(std::string_view name, int rank) {
  const auto digits = digits_of(name);
  if (!digits) return {};
  return std::string(name.substr(0, digits->start)) + std::to_string(rank) +
         std::string(name.substr(digits->end));
}

std::vector<int> members_of(std::string_view text) {
  std::vector<int> members;
  for (std::size_t at = 0; at < text.size() && members.size() < kMostMembers;) {
    if (!is_digit(text[at])) {
      ++at;
      continue;
    }
    int rank = -1;
    const auto [end, error] = std::from_chars(text.data() + at, text.data() + text.size(), rank);
    at = static_cast<std::size_t>(end - text.data());
    if (error == std::errc() && rank < static_cast<int>(kMostMembers)) members.push_back(rank);
  }
  return members;
}

}  // namespace collwatch::flight
