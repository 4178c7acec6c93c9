// SPDX-License-Identifier: Apache-2.0
//
// A small forward reader of JSON: it keeps the few values that matter and skips the rest. Whatever
// it does not understand is left as it stands.
#include "daemon/logs/flatten_json.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cstdint>
#include <cstring>
#include <ctime>
#include <string>
#include <string_view>

#include "daemon/logs/line_blocks.h"

namespace collwatch::logs {
namespace {

constexpr int kDeepest = 8;
constexpr std::size_t kLongestName = 253;
constexpr std::size_t kFurthest = 64;  ///< from the beginning of a line to its record

/// What a value is good for; of several keys for the same thing the first in the table counts.
enum class Use { message, trace, host, pid, rank, time, level, program, none };

struct Key {
  std::string_view name;
  Use use;
};
constexpr std::array<Key, 37> kKeys = {{{"message", Use::message},
                                        {"msg", Use::message},
                                        {"log", Use::message},
                                        {"textpayload", Use::message},
                                        {"event", Use::message},
                                        {"exc_info", Use::trace},
                                        {"exception", Use::trace},
                                        {"traceback", Use::trace},
                                        {"stack_trace", Use::trace},
                                        {"stack", Use::trace},
                                        {"hostname", Use::host},
                                        {"host", Use::host},
                                        {"pod_name", Use::host},
                                        {"podname", Use::host},
                                        {"pod", Use::host},
                                        {"node_name", Use::host},
                                        {"nodename", Use::host},
                                        {"node", Use::host},
                                        {"machine", Use::host},
                                        {"pid", Use::pid},
                                        {"process_id", Use::pid},
                                        {"process", Use::pid},
                                        {"rank", Use::rank},
                                        {"global_rank", Use::rank},
                                        {"realtime_timestamp", Use::time},
                                        {"timestamp", Use::time},
                                        {"@timestamp", Use::time},
                                        {"time", Use::time},
                                        {"asctime", Use::time},
                                        {"ts", Use::time},
                                        {"level", Use::level},
                                        {"levelname", Use::level},
                                        {"severity", Use::level},
                                        {"log_level", Use::level},
                                        {"syslog_identifier", Use::program},
                                        {"transport", Use::program},
                                        {"comm", Use::program}}};
constexpr std::size_t kUses = static_cast<std::size_t>(Use::none);

/// Index in the table, its size for a key that does not matter.
std::size_t place_of(std::string_view key) {
  while (!key.empty() && key[0] == '_') key.remove_prefix(1);  // journald's own fields
  std::string lower(key.substr(0, 32));
  for (char& c : lower) c = c >= 'A' && c <= 'Z' ? static_cast<char>(c + 32) : c;
  const auto* const it = std::find_if(kKeys.begin(), kKeys.end(),
                                      [&](const Key& known) { return known.name == lower; });
  return static_cast<std::size_t>(it - kKeys.begin());
}

void append_utf8(std::string& out, unsigned code) {
  const auto byte = [&](unsigned value) { out += static_cast<char>(value); };
  if (code < 0x80) {
    byte(code);
  } else if (code < 0x800) {
    byte(0xc0 | (code >> 6));
    byte(0x80 | (code & 0x3f));
  } else if (code < 0x10000) {
    byte(0xe0 | (code >> 12));
    byte(0x80 | ((code >> 6) & 0x3f));
    byte(0x80 | (code & 0x3f));
  } else {
    byte(0xf0 | (code >> 18));
    byte(0x80 | ((code >> 12) & 0x3f));
    byte(0x80 | ((code >> 6) & 0x3f));
    byte(0x80 | (code & 0x3f));
  }
}

class Record {
 public:
  explicit Record(std::string_view text) : text_(text) {}

  /// Whether the whole text is one object that holds a message.
  bool read() {
    if (!object(0)) return false;
    blanks();
    return at_ == text_.size() && !value(Use::message).empty();
  }

  const std::string& value(Use use) const { return found_[static_cast<std::size_t>(use)].text; }

 private:
  struct Found {
    std::string text;
    std::size_t place = kKeys.size();
    int depth = kDeepest;
  };

  char peek() const { return at_ < text_.size() ? text_[at_] : '\0'; }
  bool take(char c) { return at_ < text_.size() && text_[at_] == c ? (++at_, true) : false; }
  void blanks() {
    while (peek() == ' ' || peek() == '\t' || peek() == '\r') ++at_;
  }

  /// Outer values before inner ones, then in the order of the table.
  void keep(std::size_t place, int depth, std::string text) {
    if (place >= kKeys.size() || text.empty()) return;
    Found& found = found_[static_cast<std::size_t>(kKeys[place].use)];
    if (depth > found.depth || (depth == found.depth && place >= found.place)) return;
    found = {std::move(text), place, depth};
  }

  bool object(int depth) {
    if (depth >= kDeepest || !take('{')) return false;
    blanks();
    if (take('}')) return true;
    do {
      blanks();
      std::string key;
      if (!string(&key)) return false;
      blanks();
      if (!take(':')) return false;
      blanks();
      if (!any(place_of(key), depth)) return false;
      blanks();
    } while (take(','));
    return take('}');
  }

  bool any(std::size_t place, int depth) {
    if (depth >= kDeepest) return false;
    const char c = peek();
    if (c == '{') return object(depth + 1);
    if (c == '[') return array(place, depth);
    if (c == '"') {
      std::string text;
      if (!string(place < kKeys.size() ? &text : nullptr)) return false;
      keep(place, depth, std::move(text));
      return true;
    }
    const std::size_t end = std::min(text_.find_first_of(",}] \t", at_), text_.size());
    if (end == at_) return false;
    const std::string_view literal = text_.substr(at_, end - at_);
    at_ = end;
    const bool is_number = literal.find_first_not_of("0123456789.") == std::string_view::npos;
    if (is_number && place < kKeys.size() && kKeys[place].use != Use::message)
      keep(place, depth, std::string(literal));
    return true;
  }

  /// journald writes text that is no UTF-8, or has colours in it, as the numbers of its bytes.
  bool array(std::size_t place, int depth) {
    take('[');
    blanks();
    std::string bytes;
    bool is_bytes = true;
    if (!take(']')) {
      do {
        blanks();
        const std::size_t start = at_;
        if (!any(kKeys.size(), depth + 1)) return false;
        int byte = -1;
        std::from_chars(text_.data() + start, text_.data() + at_, byte);
        is_bytes = is_bytes && byte >= 0 && byte < 256;
        if (is_bytes) bytes += static_cast<char>(byte);
        blanks();
      } while (take(','));
      if (!take(']')) return false;
    }
    if (is_bytes && place < kKeys.size() && kKeys[place].use == Use::message)
      keep(place, depth, std::move(bytes));
    return true;
  }

  bool hex(unsigned& code) {
    if (at_ + 4 > text_.size()) return false;
    const char* const end = text_.data() + at_ + 4;
    const auto read = std::from_chars(text_.data() + at_, end, code, 16);
    at_ += 4;
    return read.ptr == end;
  }

  bool escaped(std::string* into) {
    const char c = peek();
    ++at_;
    constexpr std::string_view kFrom = "nrtbf\"\\/";
    constexpr std::string_view kTo = "\n\r\t\b\f\"\\/";
    if (const std::size_t at = kFrom.find(c); at != std::string_view::npos) {
      if (into != nullptr) *into += kTo[at];
      return true;
    }
    unsigned code = 0;
    if (c != 'u' || !hex(code)) return false;
    if (code >= 0xd800 && code < 0xdc00) {
      unsigned low = 0;
      if (!take('\\') || !take('u') || !hex(low) || low < 0xdc00 || low > 0xdfff) return false;
      code = 0x10000 + ((code - 0xd800) << 10) + (low - 0xdc00);
    }
    if (into != nullptr) append_utf8(*into, code);
    return true;
  }

  bool string(std::string* into) {
    if (!take('"')) return false;
    for (;;) {
      // By hand: find_first_of of the library searches its set anew for every character.
      std::size_t end = at_;
      while (end < text_.size() && text_[end] != '"' && text_[end] != '\\') ++end;
      if (end == text_.size()) return false;
      if (into != nullptr) into->append(text_.substr(at_, end - at_));
      at_ = end + 1;
      if (text_[end] == '"') return true;
      if (at_ >= text_.size() || !escaped(into)) return false;
    }
  }

  std::string_view text_;
  std::size_t at_ = 0;
  std::array<Found, kUses> found_;
};

bool is_number(std::string_view text, std::size_t most) {
  return !text.empty() && text.size() <= most &&
         text.find_first_not_of("0123456789") == std::string_view::npos;
}

/// Seconds, or thousandths, millionths, billionths of them, since 1970; or a date as it stands.
std::string time_of(const std::string& written) {
  if (written.size() >= 19 && written[4] == '-' && (written[10] == 'T' || written[10] == ' ') &&
      written.find_first_not_of("0123456789-+:.,TZ ") == std::string::npos) {
    return written;
  }
  const std::string_view digits = std::string_view(written).substr(0, written.find('.'));
  if (!is_number(digits, 19) || digits.size() < 10) return "";
  long seconds = 0;
  std::from_chars(digits.data(), digits.data() + 10, seconds);
  std::string fraction(digits.substr(10));
  if (digits.size() < written.size()) fraction += written.substr(digits.size() + 1);
  const std::time_t whole = seconds;
  std::tm parts{};
  std::array<char, 32> text{};
  if (gmtime_r(&whole, &parts) == nullptr) return "";
  std::strftime(text.data(), text.size(), "%Y-%m-%dT%H:%M:%S", &parts);
  return text.data() + (is_number(fraction, 9) ? "." + fraction : "") + "Z";
}

std::string level_of(std::string level) {
  for (char& c : level) c = c >= 'a' && c <= 'z' ? static_cast<char>(c - 32) : c;
  for (const std::string_view known :
       {"DEBUG", "INFO", "WARN", "WARNING", "ERROR", "CRITICAL", "FATAL"}) {
    if (level == known) return "[" + level + "] ";
  }
  return "";
}

bool is_name(const std::string& name) {
  return !name.empty() && name.size() <= kLongestName &&
         std::all_of(name.begin(), name.end(), [](char c) {
           return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
                  c == '-' || c == '_' || c == '.' || c == ':';
         });
}

std::string prefixes_of(const Record& record) {
  std::string out;
  const std::string& host = record.value(Use::host);
  const std::string time = time_of(record.value(Use::time));
  if (record.value(Use::program) == "kernel" && !time.empty() && is_name(host))
    return time + " " + host + " kernel: ";
  if (is_name(host)) out += "[pod/" + host + "/-] ";
  if (!time.empty()) out += time + " ";
  out += level_of(record.value(Use::level));
  if (is_number(record.value(Use::pid), 9)) out += "(pid=" + record.value(Use::pid) + ") ";
  if (is_number(record.value(Use::rank), 7)) out += "[rank" + record.value(Use::rank) + "]: ";
  return out;
}

/// The line that the record stands for, at most `room` long; empty where it is none.
std::string line_of(std::string_view record_text, std::size_t room) {
  Record record(record_text);
  if (!record.read()) return "";
  std::string line = prefixes_of(record);
  if (line.size() + record.value(Use::message).size() > room) line.clear();
  line += record.value(Use::message);
  while (!line.empty() && (line.back() == '\n' || line.back() == '\r')) line.pop_back();
  if (const std::string& trace = record.value(Use::trace); !trace.empty()) line += "\n" + trace;
  while (!line.empty() && (line.back() == '\n' || line.back() == '\r')) line.pop_back();
  line.resize(strip_escapes(line.data(), line.size()));
  std::replace(line.begin(), line.end(), '\n', '\v');
  return line.size() <= room ? line : "";
}

/// containerd's "time stdout F " may stand in front of a record.
bool is_behind_stream(std::string_view before) {
  const std::string_view end =
      before.substr(before.size() - std::min<std::size_t>(before.size(), 9));
  return end == "stdout F " || end == "stderr F ";
}

}  // namespace

std::size_t flatten_json(char* text, std::size_t size) {
  std::size_t kept = 0;  // what is final lies before this
  std::size_t from = 0;  // what is not yet moved begins here
  std::size_t look = 0;
  const std::string_view all(text, size);
  while (look < size) {
    const void* const brace = std::memchr(text + look, '{', size - look);
    if (brace == nullptr) break;
    const auto at = static_cast<std::size_t>(static_cast<const char*>(brace) - text);
    look = at + 1;
    if (at + 1 >= size || (text[at + 1] != '"' && text[at + 1] != ' ')) continue;
    const std::string_view before =
        all.substr(at - std::min(at, kFurthest), std::min(at, kFurthest));
    const std::size_t newline = before.rfind('\n');
    if (newline == std::string_view::npos && at > before.size()) continue;
    const std::size_t start = at - before.size() + (newline + 1);  // npos + 1 is 0
    if (start != at && !is_behind_stream(all.substr(start, at - start))) continue;
    const std::size_t end = std::min(all.find('\n', at), size);
    const std::string line = line_of(all.substr(at, end - at), end - at);
    look = end;
    if (line.empty()) continue;
    std::memmove(text + kept, text + from, at - from);
    kept += at - from;
    std::memcpy(text + kept, line.data(), line.size());
    kept += line.size();
    from = end;
  }
  if (from == 0) return size;
  std::memmove(text + kept, text + from, size - from);
  return kept + size - from;
}

}  // namespace collwatch::logs
