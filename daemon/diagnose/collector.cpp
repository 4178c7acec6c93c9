// SPDX-License-Identifier: Apache-2.0
//
// From blocks to lines: which lines are looked at, and whose they are.
#include "daemon/diagnose/collector.h"

#include <algorithm>
#include <cstring>
#include <optional>
#include <utility>

#include "daemon/match/newlines.h"

namespace collwatch::diagnose {
namespace {

constexpr long kLookAtAll = 4L << 20;        ///< bytes of a file of which every line is looked at
constexpr std::size_t kBlockTail = 1024;     ///< bytes at the end of each block, likewise
constexpr std::size_t kFileTail = 262144;    ///< bytes at the end of the last block, likewise
constexpr long kSampleBytes = 32768;         ///< of the rest, one line in so many bytes
constexpr std::size_t kLongestLine = 16384;  ///< what is longer is looked at up to here
constexpr std::size_t kMostWriters = 4096;
constexpr std::size_t kMostOpenings = 64;
constexpr std::size_t kLastText = 200;
constexpr std::size_t kMostWritersOfAStream = 256;

/// Of a line that is too long, what a pattern may have found in it.
std::string_view shorten(std::string_view text, std::size_t around) {
  if (text.size() <= kLongestLine) return text;
  const std::size_t start = around > kLongestLine / 2 ? around - kLongestLine / 2 : 0;
  return text.substr(start, kLongestLine);
}

/// Without what launchers and loggers put around it.
std::string_view peeled(std::string_view raw, logs::Who& who) {
  std::string_view text = logs::peel(raw, who);
  while (!text.empty() && (text.back() == ' ' || text.back() == '\r' || text.back() == '\0')) {
    text.remove_suffix(1);
  }
  return text;
}

/// Where a line that holds several ends its next one. Two searches of one character: find_first_of
/// of the library asks for each character on its own, which took a quarter of a whole run.
std::size_t part_end(std::string_view line, std::size_t start) {
  const std::size_t end = std::min(line.find('\r', start), line.size());
  return std::min(line.substr(0, end).find('\v', start), end);
}

std::string_view peeled(std::string_view raw) {
  logs::Who nobody;
  return peeled(raw, nobody);
}

std::string key_of(const logs::Who& who) {
  if (who.is_kernel) return "kernel";
  if (who.rank) return "r" + std::to_string(*who.rank);
  if (who.local_rank) return "l" + std::to_string(*who.local_rank);
  if (who.pid) return "p" + std::to_string(*who.pid) + "@" + who.host;
  if (who.label) return "n" + std::to_string(*who.label);
  if (who.group_rank && who.is_native) return "g" + std::to_string(*who.group_rank);
  return "";
}

/// The first letters of a line, digits left out.
std::string opening(std::string_view text) {
  std::string letters;
  for (const char c : text) {
    if (letters.size() == 8) break;
    if (c < '0' || c > '9') letters += c;
  }
  return letters;
}

}  // namespace

Collector::Collector(const Patterns& patterns, int file, logs::Source source, Budget* budget)
    : patterns_(patterns), budget_(budget), file_(file) {
  facts_.source = std::move(source);
}

/// Where the next line begins that is looked at: the lines before it are only counted.
std::size_t Collector::skip(const logs::Block& block, std::size_t start, std::size_t next_found,
                            long& number) {
  const std::string_view text = block.text;
  const long here = facts_.bytes + static_cast<long>(start);
  if (here < kLookAtAll || number <= look_until_ || tries_every_line()) return start;
  const std::size_t tail = block.is_last ? kFileTail : kBlockTail;
  std::size_t stop = text.size() > tail ? text.size() - tail : 0;
  if (next_found < found_.size()) stop = std::min(stop, found_[next_found].at);
  const long to_sample = next_sample_ - facts_.bytes;
  if (to_sample < static_cast<long>(stop)) stop = static_cast<std::size_t>(std::max(to_sample, 0L));
  if (stop > start) {
    const std::size_t line = match::line_start(text, stop);
    if (line > start) {
      number += static_cast<long>(match::newlines_in(text.substr(start, line - start)));
      start = line;
    }
  }
  next_sample_ =
      (facts_.bytes + static_cast<long>(start)) / kSampleBytes * kSampleBytes + kSampleBytes;
  return start;
}

void Collector::add(const logs::Block& block) {
  Candidates& found = found_;
  found.clear();
  patterns_.matcher().candidates(block.text, found);
  std::size_t next = 0;
  long number = next_line_;
  const std::string_view text = block.text;
  for (std::size_t start = 0; start < text.size();) {
    start = skip(block, start, next, number);
    const void* const newline = std::memchr(text.data() + start, '\n', text.size() - start);
    const std::size_t end =
        newline == nullptr
            ? text.size()
            : static_cast<std::size_t>(static_cast<const char*>(newline) - text.data());
    std::size_t upto = next;
    while (upto < found.size() && found[upto].at < end) ++upto;
    physical_line(text.substr(start, end - start), number, found, next, upto, start);
    next = upto;
    start = end + 1;
    if (newline != nullptr) ++number;
  }
  facts_.bytes += static_cast<long>(text.size());
  if (budget_ != nullptr) budget_->read(text.size());
  next_line_ = number;
  facts_.lines = number - 1 + (block.ends_line || text.empty() ? 0 : 1);
}

/// A line may hold many: progress bars overwrite themselves with carriage returns, and records that
/// were JSON hold whole tracebacks, with a vertical tab where a line ended.
void Collector::physical_line(std::string_view line_text, long number, const Candidates& found,
                              std::size_t from, std::size_t to, std::size_t offset) {
  std::vector<int>& expressions = expressions_;
  if (!line_text.empty() && line_text.back() == '\r') line_text.remove_suffix(1);  // DOS line ends
  for (std::size_t start = 0; start <= line_text.size();) {
    const std::size_t end = part_end(line_text, start);
    expressions.clear();
    std::size_t around = 0;
    while (from < to && found[from].at - offset < end) {
      around = found[from].at - offset - std::min(start, found[from].at - offset);
      if (!is_off(found[from].expression) &&
          std::find(expressions.begin(), expressions.end(), found[from].expression) ==
              expressions.end()) {
        expressions.push_back(found[from].expression);
      }
      ++from;
    }
    const bool is_last = end == line_text.size() || line_text[end] == '\v';
    const std::string_view text = shorten(line_text.substr(start, end - start), around);
    if (budget_ != nullptr) takes_time_ = budget_->takes_time();
    if (tries_every_line()) try_every_line(text, {file_, number}, expressions);
    // Of a bar's many states only those that say something, and the last.
    if (!is_last) drop_false(text, {file_, number}, expressions);
    if (!expressions.empty() || is_last) {
      std::sort(expressions.begin(), expressions.end(), [&](int a, int b) {
        return std::pair(patterns_.place(a), a) < std::pair(patterns_.place(b), b);
      });
      line(text, number, expressions);
    }
    start = end + 1;
  }
}

bool Collector::tries_every_line() const {
  return budget_ == nullptr ? !patterns_.matcher().unfiltered().empty()
                            : budget_->tries_every_line();
}

void Collector::try_every_line(std::string_view raw, Place place, std::vector<int>& expressions) {
  std::optional<std::string_view> text;  // peeled only where somebody asks
  for (const int expression : patterns_.matcher().unfiltered()) {
    if (is_off(expression)) continue;
    if (!text && patterns_.looks_at_ends(expression)) text = peeled(raw);
    if (finds(expression, raw, text.value_or(raw), place)) expressions.push_back(expression);
  }
}

void Collector::drop_false(std::string_view raw, Place place, std::vector<int>& expressions) {
  if (expressions.empty()) return;
  const std::string_view text = peeled(raw);
  const auto is_false = [&](int expression) { return !finds(expression, raw, text, place); };
  expressions.erase(std::remove_if(expressions.begin(), expressions.end(), is_false),
                    expressions.end());
}

/// Some patterns hold part of a prefix, others are anchored behind it.
bool Collector::finds(int expression, std::string_view raw, std::string_view text, Place place) {
  const auto finds_in = [&](std::string_view part) {
    return patterns_.matcher().matches(expression, part);
  };
  const bool is_timed = takes_time_ && patterns_.is_own(expression);
  const auto start = is_timed ? Budget::processor_time() : std::chrono::nanoseconds(0);
  const bool found = finds_in(raw) || (text.size() != raw.size() &&
                                       patterns_.looks_at_ends(expression) && finds_in(text));
  if (is_timed) budget_->charge(expression, Budget::processor_time() - start, place);
  return found;
}

Collector::Open& Collector::open_of(const logs::Who& who) {
  std::string key = key_of(who);
  if (key.empty()) {
    key = sticky_;
  } else if (!who.is_kernel) {
    sticky_ = key;
  }
  if (open_.size() >= kMostWriters && open_.count(key) == 0) key = "";
  const auto [it, is_new] = open_.try_emplace(key);
  if (is_new) {
    it->second.writer = facts_.writers.size();
    facts_.writers.emplace_back();
  }
  Writer& writer = facts_.writers[it->second.writer];
  if (who.rank) writer.rank = who.rank;
  if (who.local_rank) writer.local_rank = who.local_rank;
  if (who.label) writer.label = who.label;
  if (who.group_rank && who.is_native) writer.group_rank = who.group_rank;
  if (who.pid) writer.pid = who.pid;
  if (!who.host.empty()) {
    writer.host = who.host;
    if (facts_.hosts.size() < kMostWriters) facts_.hosts.insert(who.host);
  }
  writer.is_kernel = who.is_kernel;
  return it->second;
}

void Collector::line(std::string_view raw, long number, const std::vector<int>& expressions) {
  // A log so full of failures that nothing more is kept: whose line it is does not matter either.
  if (is_full() && number > look_until_ && !expressions.empty() && !patterns_.may_act(expressions))
    return;
  logs::Who who;
  const std::string_view text = peeled(raw, who);
  const Place place{file_, number};
  if (!who.is_kernel && tells_zone(who.time)) {
    if (facts_.first_time.empty()) facts_.first_time = who.time;
    facts_.last_time = who.time;
  }
  if (who.world) facts_.world = std::max(facts_.world.value_or(0), *who.world);
  Open& open = open_of(who);
  Writer& writer = facts_.writers[open.writer];
  ++writer.lines;
  writer.last = place;
  if (text.empty()) return;
  if (open.lists_for >= 0 && listed(text, open)) return;
  if (expressions.empty() && !open.traceback.is_open()) return ordinary(text, place, open);
  bool is_exception = false;
  if (open.traceback.is_open()) {
    const auto part = open.traceback.add(text);
    if (part == Tracebacks::Part::body) {
      look_until_ = std::max(look_until_, number + kLookOn);
      return;
    }
    is_exception = part == Tracebacks::Part::exception;
  }
  const bool may_act = patterns_.may_act(expressions);
  const bool is_settled_here = !is_exception && is_settled(open, expressions);
  if (is_settled_here && !may_act) return;
  const int expression = is_settled_here ? kNoPattern : speaker(expressions, raw, text, place);
  const bool is_dropped =
      is_settled_here || (!is_exception && expression != kNoPattern && !has_room(open, expression));
  if (is_dropped && !may_act) return;
  Event event;
  event.place = place;
  event.rank_is_guess = key_of(who).empty() && !sticky_.empty();
  event.writer = static_cast<int>(open.writer);
  event.is_strong = who.severity != 'W' && who.severity != 'I';
  event.who = std::move(who);
  const bool is_structure = marks(expressions, text, event, open);
  if (is_dropped) return;
  add_fields(expressions, text, is_structure || expression != kNoPattern, event);
  event.text = logs::printable(text);
  if (expression != kNoPattern) speak(expression, raw, text, event);
  if (is_exception) {
    exception(text, expression, event, open);
  } else if (event.pattern.empty() && event.fields.empty()) {
    if (!is_structure) ordinary(text, place, open);
  } else {
    keep(std::move(event), expression, open);
  }
}

void Collector::ordinary(std::string_view text, Place place, Open& open) {
  Writer& writer = facts_.writers[open.writer];
  // Native stacks and indented text belong to what came before them.
  for (const std::string_view start :
       {" ", "\t", "frame #", "Exception raised from", "<omitting", "---", "==="}) {
    if (text.substr(0, start.size()) == start) return;
  }
  if (open.last_event >= 0) {
    // The body of a long message is no sign of life; lines like those before the error are.
    if (writer.openings.count(opening(text)) != 0) ++writer.after_failure;
    return;
  }
  if (writer.openings.size() < kMostOpenings) writer.openings.insert(opening(text));
  writer.last_ordinary = place;
  open.last_text.assign(text.substr(0, kLastText));
}

std::vector<Event> Collector::take_events() {
  std::vector<Event> events = std::exchange(facts_.events, {});
  for (Event& event : events) {
    const Writer& writer = facts_.writers[static_cast<std::size_t>(event.writer)];
    const bool is_of_host = event.fingerprint == model::Fingerprint::host_oom_kill ||
                            event.fingerprint == model::Fingerprint::gpu_hardware_xid ||
                            event.fingerprint == model::Fingerprint::job_cancelled;
    if (writer.is_kernel || (event.rank_is_guess && is_of_host)) continue;
    event.rank = writer.rank ? writer.rank : facts_.source.hint.rank;
    if (!event.rank) event.rank = writer.group_rank;
  }
  facts_.exits.clear();
  facts_.restarts.clear();
  facts_.terminated.clear();
  for (auto& [key, open] : open_) {
    open.last_event = open.newest = open.lists_for = -1;
    open.kept.clear();
    open.seen.clear();
  }
  if (open_.size() > kMostWritersOfAStream) {
    open_.clear();
    facts_.writers.clear();
  }
  return events;
}

FileFacts Collector::finish() {
  for (const auto& [key, open] : open_) {
    facts_.writers[open.writer].last_text = logs::printable(open.last_text, kLastText);
  }
  for (const Writer& writer : facts_.writers)
    facts_.is_kernel_log = facts_.is_kernel_log || writer.is_kernel;
  return std::move(facts_);
}

}  // namespace collwatch::diagnose
