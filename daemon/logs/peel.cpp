// SPDX-License-Identifier: Apache-2.0
//
// The order in which prefixes are tried, and the cursor they read with.
#include "daemon/logs/peel.h"

#include <array>
#include <charconv>

#include "daemon/logs/peel_parts.h"

namespace collwatch::logs {
namespace {

/// More prefixes than this on one line are text that looks like prefixes.
constexpr int kMostPrefixes = 9;

/// The more a shape says, the earlier it is tried. What could be anything comes last.
constexpr std::array<Peeler, 18> kPeelers = {
    peel_rank_tag, peel_c10,   peel_glog,      peel_mpi_tag, peel_kernel,     peel_time,
    peel_level,    peel_actor, peel_container, peel_replica, peel_pod,        peel_bracketed_rank,
    peel_nccl,     peel_box,   peel_file_tag,  peel_journal, peel_task_label, peel_host_label};

bool is_name_char(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-' ||
         c == '_' || c == '.';
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
    bool peeled = false;
    for (const Peeler peeler : kPeelers) {
      // Indented text is the body of something: only boxes and tags may stand further right.
      peeled = peeler(line, who);
      if (peeled) break;
    }
    if (!peeled) break;
  }
  return line;
}

}  // namespace collwatch::logs
