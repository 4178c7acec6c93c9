// SPDX-License-Identifier: Apache-2.0
//
// For a person at 3 a.m.: what to do first, why later.
#include <sstream>

#include "daemon/diagnose/conclude.h"
#include "daemon/explain/page.h"
#include "daemon/explain/print.h"

namespace collwatch::explain {
namespace {

using catalogue::Entry;
using catalogue::Pattern;
using catalogue::Role;

constexpr std::size_t kIdColumn = 25;
constexpr std::size_t kShownTexts = 6;
constexpr std::size_t kShownPhrases = 3;

std::string filled(const std::string& text) {
  return diagnose::fill(text, {});
}

void section(Page& page, const std::string& name, const std::string& text) {
  if (text.empty()) return;
  page.heading(name);
  page.paragraph("", 2, filled(text));
}

void commands(Page& page, const std::string& text) {
  std::istringstream lines(filled(text));
  for (std::string line; std::getline(lines, line);) page.command(line);
}

void list(Page& page, const std::string& name, const std::vector<std::string>& items) {
  if (items.empty()) return;
  page.heading(name);
  for (const std::string& item : items) page.paragraph("  -", 4, item);
}

std::string joined(const std::vector<model::Fingerprint>& ids) {
  std::string text;
  for (const model::Fingerprint id : ids) {
    text += (text.empty() ? "" : ", ") + std::string(model::name(id));
  }
  return text;
}

const char* said_by(Role role) {
  switch (role) {
    case Role::initiating:
      return "initiating: whoever prints it, or is named in it, broke";
    case Role::collateral:
      return "collateral: it echoes a failure that is elsewhere, and older";
    case Role::context:
      return "context: an observer's report, true, but neither the cause nor its echo";
    case Role::benign:
      break;
  }
  return "benign: no failure by itself";
}

/// The first texts that are not benign, cut to the width.
void texts(Page& page, const std::vector<Pattern>& patterns) {
  if (patterns.empty()) return;
  page.heading("Texts");
  std::size_t shown = 0;
  for (const Pattern& pattern : patterns) {
    if (shown == kShownTexts) break;
    if (pattern.role == Role::benign && patterns.size() > kShownTexts) continue;
    std::string line = "  " + std::string(model::name(pattern.role));
    line.append(14 - line.size(), ' ');
    if (!pattern.examples.empty()) line += pattern.examples.front();
    if (line.size() > kColumns) line = line.substr(0, kColumns - 3) + "...";
    page.line(line);
    ++shown;
  }
  if (shown < patterns.size()) {
    page.line("  and " + std::to_string(patterns.size() - shown) + " more (--format markdown)");
  }
}

}  // namespace

std::string entry_text(const Entry& entry, bool colour) {
  Page page(colour);
  page.line(page.bold(std::string(model::name(entry.id))) + "  (" + entry.layer + ")");
  page.paragraph("", 0, entry.title);
  section(page, "On call", entry.on_call);
  section(page, "What you see", entry.symptom);
  if (!entry.causes.empty()) page.heading("Causes, and what tells them apart");
  for (std::size_t i = 0; i < entry.causes.size(); ++i) {
    page.paragraph("  " + std::to_string(i + 1) + ".", 5, entry.causes[i].cause);
    page.paragraph("     >", 7, entry.causes[i].evidence);
  }
  section(page, "Fix", entry.fix);
  if (!entry.takes.empty()) page.paragraph("  takes:", 9, entry.takes);
  if (!entry.verify.empty()) page.heading("Verify");
  commands(page, entry.verify);
  section(page, "How it comes about", entry.mechanism);
  list(page, "Variables that tell it apart", entry.environment);
  if (!entry.frameworks.empty()) page.heading("How it looks in");
  for (const auto& [framework, text] : entry.frameworks) {
    page.paragraph("  " + framework + ":", 4, text);
  }
  section(page, "Prevention", entry.prevention);
  section(page, "For the executive", entry.executive);
  section(page, "For the engineer", entry.engineer);
  texts(page, entry.patterns);
  section(page, "Related", joined(entry.related));
  list(page, "References", entry.references);
  return page.text();
}

std::string table_text(const catalogue::Catalogue& catalogue, bool colour) {
  Page page(colour);
  for (const std::string& layer : layers(catalogue)) {
    page.heading(layer);
    for (const Entry& entry : catalogue.entries()) {
      if (entry.layer != layer) continue;
      page.paragraph("  " + std::string(model::name(entry.id)), kIdColumn + 2, entry.title);
    }
  }
  page.line("");
  page.paragraph("", 0,
                 "collwatch explain ID, or any line of a log in quotes; --layer nccl lays one "
                 "layer side by side.");
  return page.text().substr(1);
}

std::string layer_text(const catalogue::Catalogue& catalogue, const std::string& layer,
                       bool colour) {
  Page page(colour);
  for (const Entry* entry : entries_of_layer(catalogue, layer)) {
    page.line((page.text().empty() ? "" : "\n") + page.bold(std::string(model::name(entry->id))));
    page.paragraph("", 0, entry->title);
    std::string phrases;
    for (std::size_t i = 0; i < std::min(entry->phrases.size(), kShownPhrases); ++i) {
      phrases += (i == 0 ? "" : "; ") + entry->phrases[i];
    }
    page.paragraph("  known as", 14, phrases);
    page.paragraph("  indicates", 14, entry->engineer);
    page.paragraph("  go to", 14, entry->on_call);
    for (std::size_t i = 0; i < entry->environment.size(); ++i) {
      page.paragraph(i == 0 ? "  told by" : "", 14, entry->environment[i]);
    }
  }
  return page.text();
}

std::string found_text(const Found& found) {
  Page page(false);
  const std::string also = found.others.empty() ? "" : "; see also " + joined(found.others);
  switch (found.by) {
    case FoundBy::id:
      break;
    case FoundBy::pattern:
      page.paragraph("", 0, std::string("This text is ") + said_by(found.pattern->role) + ".");
      if (!found.pattern->versions.empty())
        page.paragraph("", 0, "Versions: " + found.pattern->versions + ".");
      break;
    case FoundBy::phrase:
      page.paragraph("", 0, "Found by \"" + found.phrase + "\"" + also + ".");
      break;
    case FoundBy::words:
      page.paragraph("", 0, "Found by its words" + also + ".");
      break;
  }
  return page.text();
}

}  // namespace collwatch::explain
