// SPDX-License-Identifier: Apache-2.0
//
// Small builders, one per thing that can happen.
#include "daemon/demo/notes.h"

#include <algorithm>
#include <cstdio>

namespace collwatch::demo {
namespace {

using model::Kind;
using model::VerdictState;

std::string field(const std::string& key, std::string_view value) {
  return ", \"" + key + "\": " + json_string(value);
}

std::string event(std::string_view what) {
  return "\"event\": " + json_string(what);
}

std::string number(double value) {
  char text[32];
  std::snprintf(text, sizeof text, "%.3f", value);
  return text;
}

std::string subject(const VerdictView& v) {
  return std::string(model::name(v.kind)) + " " + v.entity + " (" +
         std::string(model::name(v.reason)) + ")";
}

std::string said(const VerdictView& v) {
  if (v.kind == Kind::self) return "doubts itself: " + std::string(model::name(v.reason));
  if (v.state == VerdictState::page) return "pages " + subject(v);
  if (v.state == VerdictState::ticket) return "files a ticket about " + subject(v);
  return "suspects " + subject(v);
}

Tone tone_of(const VerdictView& v) {
  return v.state == VerdictState::page ? Tone::bad : Tone::warning;
}

}  // namespace

std::string seconds_text(double seconds) {
  char text[32];
  std::snprintf(text, sizeof text, "%.1f s", seconds);
  return text;
}

std::string line_of(const Note& note) {
  char time[32] = "          ";
  if (note.at) std::snprintf(time, sizeof time, "%6.1f s  ", *note.at);
  return time + note.text;
}

std::string json_of(const Note& note) {
  return "{\"at\": " + (note.at ? number(*note.at) : "null") + ", " + note.json + "}";
}

Note started_note(int nodes, const std::string& where) {
  return {{},
          std::to_string(nodes) + " agents started " + where,
          event("started") + ", \"nodes\": " + std::to_string(nodes) + field("where", where),
          Tone::plain};
}

Note healthy_note(int edges, double after_seconds) {
  return {{},
          "all " + std::to_string(edges) + " edges are ok, " + seconds_text(after_seconds) +
              " after the start",
          event("healthy") + ", \"edges\": " + std::to_string(edges) +
              ", \"seconds_since_start\": " + number(after_seconds),
          Tone::good};
}

Note injected_note(const Fault& fault) {
  return {{},
          "injected " + fault.spec + ": " + describe(fault),
          event("injected") + field("spec", fault.spec),
          Tone::warning};
}

Note repaired_note(const Fault& fault) {
  return {{}, "repaired " + fault.spec, event("repaired") + field("spec", fault.spec), Tone::good};
}

Note change_note(const Change& change) {
  const std::string agent = node_name(change.agent);
  const VerdictView& v = change.verdict;
  const std::string facts = field("agent", agent) + field("kind", model::name(v.kind)) +
                            field("entity", v.entity) + field("reason", model::name(v.reason)) +
                            field("fingerprint", model::name(v.fingerprint));
  switch (change.what) {
    case Change::What::verdict:
      return {{},
              agent + " " + said(v),
              event("verdict") + facts + field("state", model::name(v.state)),
              tone_of(v)};
    case Change::What::cleared:
      return {{}, agent + " has cleared " + subject(v), event("cleared") + facts, Tone::good};
    case Change::What::silent:
      return {
          {}, agent + " does not answer", event("silent") + field("agent", agent), Tone::warning};
    case Change::What::answers:
      break;
  }
  return {{}, agent + " answers again", event("answers") + field("agent", agent), Tone::plain};
}

Note plain_note(const std::string& what, const std::string& text, Tone tone) {
  return {{}, text, event(what) + field("text", text), tone};
}

std::string in_words(const AgentStatus& status, std::size_t width) {
  const auto& all = status.verdicts;
  if (all.empty()) return "all well";
  const VerdictView& worst =
      *std::max_element(all.begin(), all.end(), [](const VerdictView& a, const VerdictView& b) {
        return a.state < b.state || (a.state == b.state && a.kind == Kind::self);
      });
  std::string text;
  if (worst.kind == Kind::self) {
    text = "doubts itself: " + std::string(model::name(worst.reason));
  } else {
    // The entity's form tells nodes from links; other kinds are said where there is room.
    const std::string what = std::string(model::name(worst.state)) + " ";
    text = worst.entity + ": " + std::string(model::name(worst.reason));
    const std::string longer = what + std::string(model::name(worst.kind)) + " " + text;
    text = longer.size() <= width ? longer : what + text;
  }
  if (all.size() > 1) text += " +" + std::to_string(all.size() - 1);
  if (text.size() > width) text.resize(width);
  return text;
}

}  // namespace collwatch::demo
