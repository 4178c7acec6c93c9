// SPDX-License-Identifier: Apache-2.0
//
// The order in which prefixes are tried, and the cursor they read with.
#include "daemon/logs/peel.h"

#include <algorithm>
#include <array>
#include <charconv>

#include "daemon/logs/peel_parts.h"

namespace collwatch::logs {
namespace {

/// More prefixes than this on one line are text that looks like prefixes.
constexpr int kMostPrefixes = 9;

/// What a prefix may begin with; most lines are told from most prefixes by that alone.
enum First : unsigned {
  kBracket = 1,
  kParen = 2,
  kDigit = 4,
  kLetter = 8,
  kBlank = 16,
  kOther = 32
};
constexpr unsigned kName = kDigit | kLetter | kOther;
constexpr unsigned kAny = 63;

struct Shape {
  Peeler peel;
  unsigned first;
};

/// The more a shape says, the earlier it is tried. What could be anything comes last.
constexpr std::array<Shape, 21> kShapes = {{{peel_rank_tag, kBracket | kBlank},
                                            {peel_syslog, kDigit | kOther},
                                            {peel_c10, kBracket},
                                            {peel_glog, kLetter},
                                            {peel_mpi_tag, kAny},
                                            {peel_kernel, kBracket},
                                            {peel_time, kBracket | kDigit | kLetter},
                                            {peel_level, kBracket | kLetter},
                                            {peel_actor, kBracket | kParen},
                                            {peel_container, kLetter},
                                            {peel_replica, kLetter},
                                            {peel_pod, kBracket},
                                            {peel_bracketed_rank, kBracket},
                                            {peel_nccl, kName},
                                            {peel_host_pid, kBracket},
                                            {peel_box, kOther},
                                            {peel_file_tag, kBracket},
                                            {peel_journal, kName},
                                            {peel_task_label, kDigit | kBlank},
                                            {peel_stern, kLetter},
                                            {peel_host_label, kDigit | kLetter}}};

First first_of(char c) {
  if (c == '[') return kBracket;
  if (c == '(') return kParen;
  if (c == ' ') return kBlank;
  if (c >= '0' && c <= '9') return kDigit;
  if ((c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z')) return kLetter;
  return kOther;
}

/// Asked of every character of every name: by table.
constexpr std::array<bool, 256> kNameChars = [] {
  std::array<bool, 256> is_in{};
  for (unsigned c = 0; c < 256; ++c) {
    is_in[c] = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
               c == '-' || c == '_' || c == '.';
  }
  return is_in;
}();

bool is_name_char(char c) {
  return kNameChars[static_cast<unsigned char>(c)];
}

char lower(char c) {
  return c >= 'A' && c <= 'Z' ? static_cast<char>(c + 32) : c;
}

}  // namespace

bool Cursor::take(std::string_view word) {
  if (text_.substr(at_, word.size()) != word) return false;
  at_ += word.size();
  return true;
}

bool Cursor::take_ignoring_case(std::string_view lower_case_word) {
  for (std::size_t i = 0; i < lower_case_word.size(); ++i) {
    if (lower(peek(i)) != lower_case_word[i]) return false;
  }
  at_ += lower_case_word.size();
  return true;
}

std::optional<long> Cursor::number(int least, int most) {
  std::size_t end = at_;
  while (end < text_.size() && text_[end] >= '0' && text_[end] <= '9') ++end;
  const int digits = static_cast<int>(end - at_);
  if (digits < least || digits > most) return std::nullopt;
  long value = 0;
  std::from_chars(text_.data() + at_, text_.data() + end, value);
  at_ = end;
  return value;
}

std::optional<std::string_view> Cursor::until(char end, std::size_t most) {
  const std::size_t at = text_.substr(at_, most).find(end);
  if (at == std::string_view::npos) return std::nullopt;
  const std::string_view found = text_.substr(at_, at);
  at_ += at + 1;
  return found;
}

std::string_view Cursor::name() {
  const std::size_t start = at_;
  while (at_ < text_.size() && is_name_char(text_[at_])) ++at_;
  return text_.substr(start, at_ - start);
}

std::string_view peel(std::string_view line, Who& who) {
  for (int count = 0; count < kMostPrefixes; ++count) {
    if (line.empty()) break;
    const unsigned first = first_of(line[0]);
    const bool peeled = std::any_of(kShapes.begin(), kShapes.end(), [&](const Shape& shape) {
      return (shape.first & first) != 0 && shape.peel(line, who);
    });
    if (!peeled) break;
  }
  return line;
}

}  // namespace collwatch::logs
