// SPDX-License-Identifier: Apache-2.0
//
// Prefixes that say when and how bad: loggers, the kernel, container runtimes.
#include <array>
#include <string>

#include "daemon/logs/peel_parts.h"

namespace collwatch::logs {
namespace {

/// hh:mm:ss with any fraction.
bool take_clock(Cursor& cursor) {
  const std::size_t start = cursor.position();
  if (!cursor.number(1, 2) || !cursor.take(':') || !cursor.number(2, 2) || !cursor.take(':') ||
      !cursor.number(2, 2)) {
    cursor.back_to(start);
    return false;
  }
  const std::size_t before = cursor.position();
  if (!(cursor.take('.') || cursor.take(',')) || !cursor.number(1, 9)) cursor.back_to(before);
  return true;
}

void take_zone(Cursor& cursor) {
  if (cursor.take('Z')) return;
  const std::size_t start = cursor.position();
  if ((cursor.take('+') || cursor.take('-')) && cursor.number(2, 4)) {
    if (cursor.take(':')) cursor.number(2, 2);
    return;
  }
  cursor.back_to(start);
}

/// 2026-11-30 05:05:45,842 with - or / between, T or blank before the clock.
bool take_date_and_clock(Cursor& cursor) {
  const std::size_t start = cursor.position();
  const auto year = cursor.number(2, 4);
  const char between = cursor.peek();
  const bool date = year && (between == '-' || between == '/') && cursor.take(between) &&
                    cursor.number(2, 2) && cursor.take(between) && cursor.number(2, 2) &&
                    (cursor.take('T') || cursor.take(' ') || cursor.take('_'));
  if (!date || !take_clock(cursor)) {
    cursor.back_to(start);
    return false;
  }
  take_zone(cursor);
  return true;
}

/// Aug 18 19:05:24, with a week day in front and a year behind in places.
bool take_month_and_clock(Cursor& cursor) {
  constexpr std::string_view kMonths = "JanFebMarAprMayJunJulAugSepOctNovDec";
  constexpr std::string_view kDays = "MonTueWedThuFriSatSun";
  if (cursor.peek() < 'A' || cursor.peek() > 'Z') return false;
  const std::size_t start = cursor.position();
  const auto three = [&](std::string_view names) {
    const std::size_t at = names.find(cursor.rest().substr(0, 3));
    return cursor.rest().size() > 3 && at != std::string_view::npos && at % 3 == 0 &&
           cursor.take(cursor.rest().substr(0, 3));
  };
  if (three(kDays)) cursor.skip(' ');
  const bool month = three(kMonths) && cursor.take(' ');
  cursor.skip(' ');
  if (!month || !cursor.number(1, 2) || !cursor.take(' ') || !take_clock(cursor)) {
    cursor.back_to(start);
    return false;
  }
  const std::size_t before = cursor.position();
  if (!cursor.take(' ') || !cursor.number(4, 4)) cursor.back_to(before);
  return true;
}

/// RFC 5424's "[id key="value"]", as many as there are, or "-".
bool take_structured_data(Cursor& cursor) {
  if (cursor.take('-')) return true;
  bool any = false;
  while (cursor.take('[')) {
    bool quoted = false;
    for (;; any = true) {
      if (cursor.at_end()) return false;
      const char c = cursor.peek();
      cursor.take(c);
      if (c == '\\' && quoted) {
        cursor.take(cursor.peek());
      } else if (c == '"') {
        quoted = !quoted;
      } else if (c == ']' && !quoted) {
        break;
      }
    }
  }
  return any;
}

/// A field of RFC 5424's header, empty for "-".
std::optional<std::string_view> take_field(Cursor& cursor) {
  const auto field = cursor.until(' ', 256);
  if (!field || field->empty()) return std::nullopt;
  return *field == "-" ? std::string_view() : *field;
}

std::string rfc3339(std::string_view written) {
  std::string time(written);
  if (time.size() < 19) return time;
  for (char& c : time) {
    if (c == '/') c = '-';
    if (c == ',') c = '.';
  }
  if (time.size() > 10 && time[4] == '-') time[10] = 'T';
  return time;
}

}  // namespace

char take_level(Cursor& cursor) {
  struct Level {
    std::string_view word;
    char letter;
  };
  static constexpr std::array<Level, 16> kLevels = {{{"WARNING", 'W'},
                                                     {"CRITICAL", 'F'},
                                                     {"DEBUG", 'I'},
                                                     {"INFO", 'I'},
                                                     {"WARN", 'W'},
                                                     {"ERROR", 'E'},
                                                     {"FATAL", 'F'},
                                                     {"TRACE", 'I'},
                                                     {"warning", 'W'},
                                                     {"info", 'I'},
                                                     {"error", 'E'},
                                                     {"debug", 'I'},
                                                     {"fatal", 'F'},
                                                     {"Warning", 'W'},
                                                     {"Error", 'E'},
                                                     {"Info", 'I'}}};
  if (std::string_view("WCDIEFTwiedf").find(cursor.peek()) == std::string_view::npos) return 0;
  for (const Level& level : kLevels) {
    if (level.word[0] != cursor.peek()) continue;
    if (cursor.take(level.word)) return level.letter;
  }
  return 0;
}

bool peel_c10(std::string_view& text, Who& who) {
  Cursor cursor(text);
  if (!cursor.take('[')) return false;
  const char severity = cursor.peek();
  if (std::string_view("VIWEF").find(severity) == std::string_view::npos || severity == '\0')
    return false;
  cursor.take(severity);
  std::string_view clock;
  if (cursor.number(3, 4)) {
    cursor.take(' ');
    const std::size_t start = cursor.position();
    if (!take_clock(cursor)) return false;
    clock = text.substr(start, cursor.position() - start);
  }
  if (!cursor.take(' ')) return false;
  cursor.skip(' ');
  const std::string_view file = cursor.name();
  if (file.find('.') == std::string_view::npos || !cursor.take(':') || !cursor.number() ||
      !cursor.take(']')) {
    return false;
  }
  // The seconds are of the wall clock, the fraction is not: only the former are kept.
  if (who.time.empty()) who.time = std::string(clock.substr(0, clock.find('.')));
  who.severity = severity == 'V' ? 'I' : severity;
  who.is_native = true;
  cursor.take(' ');
  text = cursor.rest();
  return true;
}

bool peel_glog(std::string_view& text, Who& who) {
  Cursor cursor(text);
  const char severity = cursor.peek();
  if (std::string_view("VIWECF").find(severity) == std::string_view::npos || severity == '\0')
    return false;
  cursor.take(severity);
  const std::size_t start = cursor.position();
  if (!cursor.number(4, 8) || !cursor.take(' ') || !take_clock(cursor) || !cursor.take(' '))
    return false;
  const std::string_view stamp = text.substr(start, cursor.position() - start - 1);
  cursor.skip(' ');
  const auto thread = cursor.number(1, 18);
  if (!thread || !cursor.take(' ')) return false;
  const auto place = cursor.until(']', 300);
  if (!place || place->find(':') == std::string_view::npos) return false;
  if (who.time.empty()) who.time = std::string(stamp);
  who.severity = severity == 'V' ? 'I' : severity == 'C' ? 'F' : severity;
  who.is_native = true;
  cursor.take(' ');
  text = cursor.rest();
  return true;
}

bool peel_kernel(std::string_view& text, Who& who) {
  Cursor cursor(text);
  if (!cursor.take('[')) return false;
  cursor.skip(' ');
  if (!cursor.number() || !cursor.take('.') || !cursor.number(4, 9) || !cursor.take(']'))
    return false;
  who.is_kernel = true;
  cursor.take(' ');
  text = cursor.rest();
  return true;
}

bool is_shippers_time(std::string_view time) {
  if (time.size() < 15) return false;
  if (time[0] < '0' || time[0] > '9') return true;
  const bool whole = time.size() >= 20 && time[4] == '-' && time[10] == 'T';
  return whole && (time.back() == 'Z' || time.find_first_of("+-", 19) != std::string_view::npos);
}

bool peel_syslog(std::string_view& text, Who& who) {
  Cursor cursor(text);
  const bool has_priority = cursor.take('<');
  if (has_priority && (!cursor.number(1, 3) || !cursor.take('>'))) return false;
  const std::size_t after_priority = cursor.position();
  if (cursor.take("1 ")) {
    const std::size_t start = cursor.position();
    const bool timed = take_date_and_clock(cursor);
    const std::string_view stamp = text.substr(start, cursor.position() - start);
    if ((timed || (has_priority && cursor.take('-'))) && cursor.take(' ')) {
      const auto host = take_field(cursor);
      const auto program = host ? take_field(cursor) : std::nullopt;
      const auto process = program ? take_field(cursor) : std::nullopt;
      if (process && take_field(cursor) && take_structured_data(cursor)) {
        if (!cursor.take(' ') && !cursor.at_end()) return false;
        cursor.take("\xef\xbb\xbf");
        if (who.time.empty()) who.time = rfc3339(stamp);
        if (!host->empty()) who.host = std::string(*host);
        Cursor number(*process);
        if (const auto pid = number.number(); pid && number.at_end()) who.pid = *pid;
        if (*program == "kernel") who.is_kernel = true;
        text = cursor.rest();
        return true;
      }
    }
  }
  if (!has_priority) return false;
  // RFC 3164, and the kernel's records as dmesg -r has them: the rest is peeled by others.
  cursor.back_to(after_priority);
  const bool is_record =
      cursor.peek() == '[' || take_month_and_clock(cursor) || take_date_and_clock(cursor);
  if (!is_record) return false;
  text = text.substr(after_priority);
  return true;
}

bool peel_time(std::string_view& text, Who& who) {
  Cursor cursor(text);
  const bool bracket = cursor.take('[');
  const std::size_t start = cursor.position();
  if (!take_date_and_clock(cursor) && !take_month_and_clock(cursor) &&
      !(bracket && take_clock(cursor))) {
    return false;
  }
  const std::string_view stamp = text.substr(start, cursor.position() - start);
  if (bracket) {
    const auto more = cursor.until(']', 40);  // sglang: [2026-01-30 18:11:27 TP1]
    if (!more) return false;
    const std::size_t tensor = more->rfind("TP");
    if (tensor != std::string_view::npos) {
      Cursor number(more->substr(tensor + 2));
      if (const auto rank = number.number(1, 5)) who.rank = static_cast<int>(*rank);
    }
  }
  if (who.time.empty()) who.time = rfc3339(stamp);
  cursor.take(' ');
  if (cursor.take("- ")) cursor.skip(' ');
  text = cursor.rest();
  return true;
}

bool peel_container(std::string_view& text, Who& who) {
  if (who.time.empty()) return false;  // containerd: time, stream, F or P, text
  Cursor cursor(text);
  if (!cursor.take("stdout ") && !cursor.take("stderr ")) return false;
  if (!cursor.take("F ") && !cursor.take("P ")) return false;
  text = cursor.rest();
  return true;
}

bool peel_level(std::string_view& text, Who& who) {
  Cursor cursor(text);
  const bool bracket = cursor.take('[');
  if (bracket) cursor.skip(' ');
  const char level = take_level(cursor);
  if (level == 0) return false;
  if (bracket) {
    cursor.skip(' ');
    if (!cursor.take(']')) return false;
  } else if (cursor.take(':')) {
    // logging.basicConfig: LEVEL:logger:text. "ERROR: text" is text.
    const std::string_view logger = cursor.name();
    if (logger.empty() || !cursor.take(':')) return false;
  } else if (who.time.empty() && cursor.rest().substr(0, 4).find_first_of("0123456789") != 1 &&
             !(cursor.rest().substr(0, 2) == " [" && text[1] >= 'A' && text[1] <= 'Z')) {
    return false;  // a level word alone, at the front of a sentence
  } else if (!cursor.take(' ')) {
    return false;
  }
  cursor.skip(' ');
  if (who.severity == 0 || !who.is_native) who.severity = level;
  // vLLM: LEVEL month-day clock [file:line]
  const std::size_t before = cursor.position();
  if (cursor.number(2, 2) && cursor.take('-') && cursor.number(2, 2) && cursor.take(' ') &&
      take_clock(cursor)) {
    if (who.time.empty()) who.time = std::string(text.substr(before, cursor.position() - before));
    cursor.take(' ');
    if (cursor.peek() != '[') {
      const std::size_t place = cursor.position();
      const auto file = cursor.until(']', 80);
      if (!file || file->find(':') == std::string_view::npos) cursor.back_to(place);
      cursor.take(' ');
    }
  } else {
    cursor.back_to(before);
  }
  if (cursor.take("- ")) cursor.skip(' ');
  text = cursor.rest();
  return true;
}

bool peel_file_tag(std::string_view& text, Who& who) {
  if (who.severity == 0) return false;
  Cursor cursor(text);
  if (!cursor.take('[')) return false;
  const std::string_view file = cursor.name();
  if (file.size() < 4 || file.find(".py") == std::string_view::npos || !cursor.take(':'))
    return false;
  if (!cursor.until(']', 80)) return false;
  cursor.take(' ');
  text = cursor.rest();
  return true;
}

}  // namespace collwatch::logs
