// SPDX-License-Identifier: Apache-2.0
//
// The same as documents: everything of an entry, all its texts with their versions and roles.
#include <sstream>

#include "daemon/diagnose/conclude.h"
#include "daemon/explain/print.h"

namespace collwatch::explain {
namespace {

using catalogue::Entry;
using catalogue::Pattern;

constexpr std::size_t kLongestExample = 160;

/// Prose: what markdown would take for markup, and cells, stay what they are.
std::string prose(const std::string& text) {
  std::string out;
  for (const char c : diagnose::fill(text, {})) {
    if (c == '|' || c == '<' || c == '*' || c == '_' || c == '[' || c == ']' || c == '`')
      out += '\\';
    out += c == '\n' ? ' ' : c;
  }
  return out;
}

/// In a cell of a table, between backquotes.
std::string code(const std::string& text) {
  std::string out;
  for (const char c : text) {
    if (c == '|') out += '\\';
    out += c == '`' ? '\'' : c;
  }
  if (out.size() > kLongestExample) out = out.substr(0, kLongestExample - 3) + "...";
  return "`` " + out + " ``";
}

std::string link(model::Fingerprint id) {
  const std::string name(model::name(id));
  return "[" + name + "](" + name + ".md)";
}

std::string reference(const std::string& text) {
  return text.rfind("https://", 0) == 0 ? "<" + text + ">" : prose(text);
}

void section(std::ostringstream& out, const char* name, const std::string& text) {
  if (!text.empty()) out << "\n## " << name << "\n\n" << prose(text) << "\n";
}

void texts(std::ostringstream& out, const std::vector<Pattern>& patterns) {
  if (patterns.empty()) return;
  out << "\n## Texts\n\n| role | text | versions |\n|---|---|---|\n";
  for (const Pattern& pattern : patterns) {
    for (const std::string& example : pattern.examples) {
      out << "| " << model::name(pattern.role) << " | " << code(example) << " | "
          << prose(pattern.versions) << " |\n";
    }
  }
}

}  // namespace

std::string entry_markdown(const Entry& entry) {
  std::ostringstream out;
  out << "# " << model::name(entry.id) << "\n\n**" << prose(entry.title) << "** (" << entry.layer
      << ")\n";
  out << "\n| for | in a line |\n|---|---|\n| on-call | " << prose(entry.on_call)
      << " |\n| engineer | " << prose(entry.engineer) << " |\n| executive | "
      << prose(entry.executive) << " |\n";
  section(out, "What you see", entry.symptom);
  section(out, "How it comes about", entry.mechanism);
  out << "\n## Causes, and what tells them apart\n\n| cause | evidence |\n|---|---|\n";
  for (const catalogue::Cause& cause : entry.causes) {
    out << "| " << prose(cause.cause) << " | " << prose(cause.evidence) << " |\n";
  }
  section(out, "Fix", entry.fix);
  if (!entry.takes.empty()) out << "\nTakes: " << prose(entry.takes) << ".\n";
  if (!entry.verify.empty()) {
    out << "\n## Verify\n\n```\n" << diagnose::fill(entry.verify, {}) << "\n```\n";
  }
  section(out, "Prevention", entry.prevention);
  if (!entry.environment.empty()) out << "\n## Variables that tell it apart\n\n";
  for (const std::string& text : entry.environment) out << "- " << prose(text) << "\n";
  if (!entry.frameworks.empty()) out << "\n## How it looks in\n\n";
  for (const auto& [framework, text] : entry.frameworks) {
    out << "- **" << framework << "**: " << prose(text) << "\n";
  }
  texts(out, entry.patterns);
  if (!entry.related.empty()) out << "\n## Related\n\n";
  for (const model::Fingerprint id : entry.related) out << "- " << link(id) << "\n";
  if (!entry.references.empty()) out << "\n## References\n\n";
  for (const std::string& text : entry.references) out << "- " << reference(text) << "\n";
  return out.str();
}

std::string table_markdown(const catalogue::Catalogue& catalogue) {
  std::ostringstream out;
  out << "| id | layer | what it is |\n|---|---|---|\n";
  for (const Entry& entry : catalogue.entries()) {
    out << "| " << link(entry.id) << " | " << entry.layer << " | " << prose(entry.title) << " |\n";
  }
  return out.str();
}

std::string layer_markdown(const catalogue::Catalogue& catalogue, const std::string& layer) {
  std::ostringstream out;
  out << "| id | known as | really indicates | go to | told by |\n|---|---|---|---|---|\n";
  for (const Entry* entry : entries_of_layer(catalogue, layer)) {
    const auto joined = [](const std::vector<std::string>& list) {
      std::string text;
      for (const std::string& item : list) text += (text.empty() ? "" : "<br>") + prose(item);
      return text;
    };
    out << "| " << link(entry->id) << " | " << joined(entry->phrases) << " | "
        << prose(entry->engineer) << " | " << prose(entry->on_call) << " | "
        << joined(entry->environment) << " |\n";
  }
  return out.str();
}

}  // namespace collwatch::explain
