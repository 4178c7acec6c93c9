// SPDX-License-Identifier: Apache-2.0
//
// What reading the logs yields, before anybody reasons about it: events (lines that mean
// something), exits (what launchers and schedulers say about dead processes) and, per file and
// writer, how much was written and what came last. Plain values.
#pragma once

#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "daemon/catalogue/catalogue.h"
#include "daemon/logs/peel.h"
#include "daemon/logs/source.h"

namespace collwatch::diagnose {

struct Place {
  int file = -1;
  long line = 0;
};

struct Event {
  Place place;
  logs::Who who;
  int writer = -1;          ///< index in the file's writers
  std::optional<int> rank;  ///< global; filled in once all files are read
  bool rank_is_guess = false;
  std::string pattern;  ///< id of the catalogue's pattern, or of our own grammar
  model::Fingerprint fingerprint = model::Fingerprint::none;
  catalogue::Role role = catalogue::Role::context;
  std::map<std::string, std::string> fields;
  std::string text;           ///< the line without its prefixes, printable
  std::string op;             ///< the collective that the traceback was in
  std::string code;           ///< the last line of the user's own code in the traceback: file:line
  bool is_fallback = false;   ///< no pattern knows the text; its shape alone says what it is
  bool is_exception = false;  ///< the end of a traceback, or an abort: the process died of it
  bool is_chained = false;    ///< raised while another exception was handled
  bool is_strong = true;      ///< false: a warning, which alone proves no failure

  const std::string* field(const std::string& name) const {
    const auto it = fields.find(name);
    return it == fields.end() ? nullptr : &it->second;
  }
};

/// Whether the time is whole and says its zone: only such times can be compared with others.
inline bool tells_zone(const std::string& time) {
  const bool whole = time.size() >= 20 && time[4] == '-' && time[10] == 'T';
  return whole && (time.back() == 'Z' || time.find_first_of("+-", 19) != std::string::npos);
}

/// A launcher's, scheduler's or kernel's word about a process that ended.
struct Exit {
  Place place;
  std::optional<int> rank;
  std::optional<int> local_rank;
  std::optional<long> pid;
  std::string host;
  int code = 0;  ///< negative: ended by that signal
  std::string text;
};

/// One writer's part of one file.
struct Writer {
  std::optional<int> rank;
  std::optional<int> local_rank;
  std::optional<int> label;
  std::optional<int> group_rank;
  std::optional<long> pid;
  std::string host;
  bool is_kernel = false;
  long lines = 0;
  Place last;                      ///< its last line
  Place last_ordinary;             ///< the last that belongs to no error
  std::string last_text;           ///< of that line
  std::set<std::string> openings;  ///< how its ordinary lines begin
  long after_failure = 0;          ///< lines since its last error that begin like those before it
};

struct FileFacts {
  logs::Source source;
  long lines = 0;
  long bytes = 0;
  bool is_binary = false;
  std::string damage;      ///< why it could not be read to its end, where it could not
  bool is_unread = false;  ///< it could not be read at all
  bool is_kernel_log = false;
  bool is_dump = false;  ///< of the Flight Recorder; `lines` are its entries
  std::vector<Event> events;
  std::vector<Exit> exits;
  std::vector<Writer> writers;
  std::optional<int> owner;     ///< the one rank whose file this is, once known
  std::optional<int> world;     ///< world size that it mentions
  std::vector<Place> restarts;  ///< where a launcher starts the workers again
  std::string first_time;       ///< whole and with its zone; the kernel's do not count
  std::string last_time;
  std::vector<long> terminated;  ///< pids that a launcher says it ended
  std::set<std::string> hosts;   ///< that prefixes name
};

}  // namespace collwatch::diagnose
