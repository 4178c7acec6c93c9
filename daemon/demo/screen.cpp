// SPDX-License-Identifier: Apache-2.0
//
// Frames are built of plain text first, cut to size, and coloured last, so that no escape sequence
// is ever counted as width or cut in two.
#include "daemon/demo/screen.h"

#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>

namespace collwatch::demo {
namespace {

using model::Outcome;
using model::VerdictState;

enum class Style { plain, bold, dim, green, yellow, red, alarm };

constexpr std::size_t kNameColumn = 5;
constexpr std::size_t kWideCell = 11;   ///< "X peer_lost", "* 0.214    "
constexpr std::size_t kNarrowCell = 6;  ///< "* 0.2 "
constexpr int kWideNodes = 4;
constexpr std::size_t kNotesWanted = 8;
constexpr char kReset[] = "\x1b[0m";

/// A piece of a line: its text, and how many columns it takes where that is not its size.
struct Piece {
  std::string text;
  Style style = Style::plain;
  std::size_t columns = 0;  ///< 0: text.size()
};
using Line = std::vector<Piece>;

const char* code(Style style) {
  switch (style) {
    case Style::bold:
      return "\x1b[1m";
    case Style::dim:
      return "\x1b[2m";
    case Style::green:
      return "\x1b[32m";
    case Style::yellow:
      return "\x1b[33m";
    case Style::red:
      return "\x1b[31m";
    case Style::alarm:
      return "\x1b[1;31m";
    case Style::plain:
      break;
  }
  return "";
}

std::size_t columns(const Piece& piece) {
  return piece.columns > 0 ? piece.columns : piece.text.size();
}

std::string finish(const Line& line, const Canvas& canvas) {
  std::string text;
  std::size_t room = canvas.width;
  Style now = Style::plain;
  for (const Piece& piece : line) {
    std::string body = piece.text;
    if (columns(piece) > room) {
      if (piece.columns > 0) break;  // many bytes a column: not to be cut
      body.resize(room);
    }
    room -= std::min(room, columns(piece));
    if (canvas.colour && piece.style != now) {
      text += now == Style::plain ? "" : kReset;
      text += code(piece.style);
      now = piece.style;
    }
    text += body;
  }
  return now == Style::plain ? text : text + kReset;
}

std::string padded(std::string text, std::size_t width) {
  text.resize(std::max(width, text.size()), ' ');
  return text;
}

std::string clock_text(double seconds) {
  const int whole = std::max(0, static_cast<int>(seconds));
  char text[32];
  std::snprintf(text, sizeof text, "%d:%02d", whole / 60, whole % 60);
  return text;
}

/// Milliseconds in three or five columns.
std::string trip_text(double seconds, bool wide) {
  const double ms = seconds * 1000;
  char text[32];
  const int digits = ms >= 100 ? 0 : ms >= 10 ? (wide ? 1 : 0) : (wide ? 3 : 1);
  std::snprintf(text, sizeof text, "%.*f", digits, std::min(ms, 999.0));
  return text;
}

class Painter {
 public:
  Painter(const Scene& scene, const Canvas& canvas)
      : scene_(scene), canvas_(canvas), wide_(scene.nodes <= kWideNodes) {}

  std::vector<std::string> frame() const {
    std::vector<Line> lines = {title(), {}, header()};
    for (int node = 0; node < scene_.nodes; ++node) lines.push_back(row(node));
    lines.insert(lines.end(), {Line{}, time_line(), Line{}});
    const std::size_t room =
        canvas_.height > lines.size() + 1 ? canvas_.height - 1 - lines.size() : 0;
    const std::size_t wanted = std::min(room, kNotesWanted);
    const auto& notes = scene_.notes;
    for (std::size_t i = 0; i < wanted; ++i) {
      const std::size_t first = notes.size() > wanted ? notes.size() - wanted : 0;
      lines.push_back(first + i < notes.size() ? note_line(notes[first + i]) : Line{});
    }
    if (lines.size() > canvas_.height - 1) lines.resize(canvas_.height - 1);
    std::vector<std::string> finished;
    finished.reserve(lines.size());
    for (const Line& line : lines) finished.push_back(finish(line, canvas_));
    return finished;
  }

 private:
  Piece glyph(const char* unicode, const char* ascii, Style style) const {
    return {canvas_.unicode ? unicode : ascii, style, 1};
  }

  Line title() const {
    const std::string left = "  " + std::to_string(scene_.nodes) + " agents " + scene_.where;
    const auto since = scene_.watcher->healthy_since();
    std::string right = "joining " + seconds_text(scene_.now);
    if (since) right = clock_text(scene_.now - *since) + " of " + clock_text(scene_.duration);
    std::int64_t round = 0;
    for (int node = 0; node < scene_.nodes; ++node) {
      const auto& status = scene_.watcher->latest(node);
      if (status) round = std::max(round, status->round);
    }
    if (round > 0) right = "round " + std::to_string(round) + "   " + right;
    const std::size_t used = std::strlen("collwatch demo") + left.size() + right.size();
    const std::size_t gap = canvas_.width > used + 2 ? canvas_.width - used - 1 : 2;
    return {{"collwatch demo", Style::bold},
            {left, Style::dim},
            {std::string(gap, ' '), Style::plain},
            {right, Style::plain}};
  }

  std::size_t cell_width() const { return wide_ ? kWideCell : kNarrowCell; }

  Line header() const {
    Line line = {{std::string(kNameColumn, ' '), Style::plain}};
    for (int node = 0; node < scene_.nodes; ++node) {
      line.push_back({padded("  " + node_name(node), cell_width()), Style::dim});
    }
    line.push_back({" round trips in ms", Style::dim});
    return line;
  }

  Line row(int node) const {
    const auto& status = scene_.watcher->latest(node);
    Line line = {{padded(" " + node_name(node), kNameColumn), Style::bold}};
    for (int peer = 0; peer < scene_.nodes; ++peer) add_cell(line, node, peer);
    const std::size_t used =
        kNameColumn + cell_width() * static_cast<std::size_t>(scene_.nodes) + 1;
    const std::size_t room = canvas_.width > used ? canvas_.width - used : 0;
    line.push_back({" ", Style::plain});
    if (!status) {
      const bool absent = scene_.watcher->absent(node);
      line.push_back({absent ? "not started" : "does not answer", Style::dim});
      return line;
    }
    line.push_back({in_words(*status, room), mood(*status)});
    return line;
  }

  Style mood(const AgentStatus& status) const {
    Style style = Style::green;
    for (const VerdictView& v : status.verdicts) {
      if (v.state == VerdictState::page && v.kind != model::Kind::self) return Style::alarm;
      style = Style::yellow;
    }
    return style;
  }

  void add_cell(Line& line, int node, int peer) const {
    const auto& status = scene_.watcher->latest(node);
    const EdgeView* edge = nullptr;
    if (status) {
      for (const EdgeView& e : status->edges) {
        if (e.peer == node_name(peer)) edge = &e;
      }
    }
    std::string text;
    if (node == peer) {
      line.push_back({" ", Style::plain});
    } else if (edge == nullptr || !edge->outcome) {
      line.push_back(glyph("·", ".", Style::dim));
    } else if (*edge->outcome == Outcome::ok) {
      line.push_back(glyph("●", "o", Style::green));
      if (edge->round_trip_seconds) text = trip_text(*edge->round_trip_seconds, wide_);
    } else {
      line.push_back(glyph("✖", "X", Style::red));
      if (wide_) text = std::string(model::name(*edge->outcome));
    }
    text = " " + text;
    text.resize(cell_width() - 1, ' ');
    line.push_back({text, Style::dim});
  }

  struct Mark {
    double at;
    Piece piece;
  };

  /// What was done and what came of it, in the order in which later marks may cover earlier ones.
  std::vector<Mark> marks() const {
    std::vector<Mark> all;
    const Report report = scene_.watcher->report();
    for (const FaultOutcome& fault : report.faults) {
      if (!fault.injected_at) continue;
      const double at = *fault.injected_at;
      const double mended = fault.repaired_at ? *fault.repaired_at : at;
      if (fault.clear_after) all.push_back({mended + *fault.clear_after, {"C", Style::green}});
      if (fault.repaired_at) all.push_back({*fault.repaired_at, glyph("▲", "^", Style::green)});
      if (fault.suspect_after) all.push_back({at + *fault.suspect_after, {"S", Style::yellow}});
      if (fault.page_after) all.push_back({at + *fault.page_after, {"P", Style::alarm}});
      all.push_back({at, glyph("▼", "v", Style::red)});
    }
    return all;
  }

  Line time_line() const {
    const std::string legend = canvas_.unicode ? "  ▼ fault ▲ repair Suspect Page Clear"
                                               : "  v fault ^ repair Suspect Page Clear";
    constexpr std::size_t kLegend = 37;
    const std::size_t length = canvas_.width > kLegend + 12 ? canvas_.width - kLegend - 2 : 10;
    const auto since = scene_.watcher->healthy_since();
    const double per_column = scene_.duration / static_cast<double>(length);
    const double passed = since ? scene_.now - *since : 0;
    Line line;
    for (std::size_t i = 0; i < length; ++i) {
      const bool past = static_cast<double>(i) * per_column < passed;
      line.push_back(past ? glyph("━", "=", Style::plain) : glyph("─", "-", Style::dim));
    }
    for (const Mark& mark : marks()) {
      const double column = since ? (mark.at - *since) / per_column : 0;
      const auto at = static_cast<std::size_t>(std::clamp(column, 0.0, length - 1.0));
      line[at] = mark.piece;
    }
    line.insert(line.begin(), {" ", Style::plain});
    line.push_back({legend, Style::dim, kLegend});
    return line;
  }

  Line note_line(const Note& note) const {
    Style style = Style::plain;
    if (note.tone == Tone::good) style = Style::green;
    if (note.tone == Tone::warning) style = Style::yellow;
    if (note.tone == Tone::bad) style = Style::alarm;
    return {{line_of(note), style}};
  }

  const Scene& scene_;
  const Canvas& canvas_;
  bool wide_;
};

bool speaks_utf8() {
  for (const char* variable : {"LC_ALL", "LC_CTYPE", "LANG"}) {
    const char* value = std::getenv(variable);
    if (value == nullptr || *value == '\0') continue;
    const std::string text = value;
    return text.find("UTF-8") != std::string::npos || text.find("utf8") != std::string::npos;
  }
  return false;
}

}  // namespace

std::vector<std::string> paint(const Scene& scene, const Canvas& canvas) {
  return Painter(scene, canvas).frame();
}

bool write_all(int fd, const std::string& text) {
  for (std::size_t done = 0; done < text.size();) {
    const ssize_t n = write(fd, text.data() + done, text.size() - done);
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) return false;
    done += static_cast<std::size_t>(n);
  }
  return true;
}

Terminal::Terminal(int fd) : fd_(fd) {
  write_all(fd_, "\x1b[?25l");
}

Terminal::~Terminal() {
  write_all(fd_, "\x1b[?25h");
}

Canvas Terminal::canvas() const {
  Canvas canvas;
  winsize size{};
  if (ioctl(fd_, TIOCGWINSZ, &size) == 0 && size.ws_col > 0 && size.ws_row > 1) {
    canvas.width = size.ws_col;
    canvas.height = size.ws_row;
  }
  canvas.colour = std::getenv("NO_COLOR") == nullptr;
  canvas.unicode = speaks_utf8();
  return canvas;
}

void Terminal::show(const std::vector<std::string>& lines) {
  // One write per frame, each line erased to its end after it was drawn: nothing ever blinks.
  std::string text;
  if (shown_ > 0) text = "\x1b[" + std::to_string(shown_) + "A";
  for (const std::string& line : lines) text += "\r" + line + "\x1b[K\n";
  if (lines.size() < shown_) text += "\x1b[J";
  shown_ = lines.size();
  write_all(fd_, text);
}

}  // namespace collwatch::demo
