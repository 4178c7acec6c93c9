// SPDX-License-Identifier: Apache-2.0
//
// Everything the demo has to say while it runs, as a Note: one line for people and one JSON object
// for programs, both made here so that they cannot tell different stories. Pure.
#pragma once

#include <optional>
#include <string>

#include "daemon/demo/watch.h"

namespace collwatch::demo {

enum class Tone { plain, good, warning, bad };

struct Note {
  std::optional<double> at;  ///< seconds since all edges were first ok; none before that
  std::string text;          ///< without the time
  std::string json;          ///< without the time: `"event": "injected", ...`
  Tone tone = Tone::plain;
};

/// "  12.1 s  n0 pages node n2 (host_stall)"
std::string line_of(const Note& note);
/// {"at": 12.1, "event": "verdict", ...}
std::string json_of(const Note& note);

Note started_note(int nodes, const std::string& where);
Note healthy_note(int edges, double after_seconds);
Note injected_note(const Fault& fault);
Note repaired_note(const Fault& fault);
Note change_note(const Change& change);
/// A sentence of the demo itself: event is one word.
Note plain_note(const std::string& event, const std::string& text, Tone tone = Tone::plain);

/// "page n2: host_stall": what an agent says, in at most `width` columns.
std::string in_words(const AgentStatus& status, std::size_t width);

/// "0.9 s"
std::string seconds_text(double seconds);

}  // namespace collwatch::demo
