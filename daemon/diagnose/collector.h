// SPDX-License-Identifier: Apache-2.0
//
// Reads one file from front to back and keeps what matters: FileFacts. Small files are looked at
// line by line; of large ones every line that a pattern may match, and of the rest as many as are
// needed to know who writes there and what they wrote last. Memory does not grow with the file.
// Used by diagnose(); one Collector for each file.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <unordered_set>
#include <vector>

#include "daemon/diagnose/budget.h"
#include "daemon/diagnose/facts.h"
#include "daemon/diagnose/patterns.h"
#include "daemon/diagnose/tracebacks.h"
#include "daemon/logs/line_blocks.h"

namespace collwatch::diagnose {

class Collector {
 public:
  /// `file` is the index that places carry. Without a budget all patterns are tried: for those that
  /// are built in.
  Collector(const Patterns& patterns, int file, logs::Source source, Budget* budget = nullptr);

  /// One block of whole lines.
  void add(const logs::Block& block);

  FileFacts finish();

  /// For a file that is followed and never ends: the events since the last call, each with the rank
  /// of whoever wrote it as far as the file itself says. Forgets what only the end of a file needs;
  /// a traceback that is going on goes on.
  std::vector<Event> take_events();
  /// The number of the line that the next block begins in.
  void continue_at(long line) { next_line_ = line; }

 private:
  struct Open {  ///< what is going on with one writer
    std::size_t writer = 0;
    Tracebacks traceback;
    int last_event = -1;                   ///< its last failure
    int newest = -1;                       ///< its last event of any kind
    int lists_for = -1;                    ///< the event whose missing ranks the next lines name
    std::vector<std::uint16_t> kept;       ///< events of each expression; of kNoPattern first
    std::unordered_set<std::size_t> seen;  ///< hashes of the events: repeats are left out
    std::string last_text;                 ///< of its last ordinary line, as written
  };
  using Candidates = std::vector<match::Candidate>;
  static constexpr long kLookOn = 500;   ///< lines after one of a traceback that are all looked at
  static constexpr int kNoPattern = -1;  ///< fields alone, or an exception that no pattern knows

  std::size_t skip(const logs::Block& block, std::size_t start, std::size_t next_found,
                   long& number);
  void physical_line(std::string_view line, long number, const Candidates& found, std::size_t from,
                     std::size_t to, std::size_t offset);
  void line(std::string_view text, long number, const std::vector<int>& expressions);
  /// Whether no event of any kind would be kept.
  bool is_full() const;
  /// Whether another event of this kind would be kept.
  bool has_room(const Open& open, int expression) const;
  /// Whether nothing that these expressions may find would be kept.
  bool is_settled(const Open& open, const std::vector<int>& expressions) const;
  /// Whether the line is structure: part of a report, of a traceback, of an abort.
  bool marks(const std::vector<int>& expressions, std::string_view text, Event& event, Open& open);
  /// The catalogue's expression that speaks for the line, or kNoPattern.
  int speaker(const std::vector<int>& expressions, std::string_view raw, std::string_view text,
              Place place);
  /// Whether there are expressions without a literal, which are tried on every line.
  bool tries_every_line() const;
  bool is_off(int expression) const { return budget_ != nullptr && budget_->is_off(expression); }
  /// Those of them that find something in the line, behind what is in `expressions`.
  void try_every_line(std::string_view raw, Place place, std::vector<int>& expressions);
  /// Takes out what the prefilter let through and what finds nothing all the same.
  void drop_false(std::string_view raw, Place place, std::vector<int>& expressions);
  bool finds(int expression, std::string_view raw, std::string_view text, Place place);
  void add_fields(const std::vector<int>& expressions, std::string_view text, bool is_known,
                  Event& event);
  void speak(int expression, std::string_view raw, std::string_view text, Event& event);
  void rule(const Rule& rule, Event& event, Open& open);
  void exited(Event& event);
  void keep(Event event, int expression, Open& open);
  void exception(std::string_view text, int expression, Event& event, Open& open);
  /// Whether the line names another missing rank: "2: [tensor, tensor]".
  bool listed(std::string_view text, Open& open);
  void ordinary(std::string_view text, Place place, Open& open);
  Open& open_of(const logs::Who& who);

  const Patterns& patterns_;
  Budget* budget_;
  bool takes_time_ = false;  ///< of the line that is looked at
  int file_;
  FileFacts facts_;
  std::map<std::string, Open> open_;
  std::string sticky_;  ///< key of the writer that spoke last under its own name
  Exit report_;         ///< elastic's table is read row by row
  std::optional<int> spawned_;
  long next_line_ = 1;            ///< number of the line that the next block begins in
  long next_sample_ = 0;          ///< byte of the file whose line is looked at in any case
  long look_until_ = 0;           ///< a traceback is open: lines up to here matter
  Candidates found_;              ///< of one block
  std::vector<int> expressions_;  ///< of one line
};

}  // namespace collwatch::diagnose
