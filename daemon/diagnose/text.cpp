// SPDX-License-Identifier: Apache-2.0
//
// The diagnosis for people: the verdict first, the lines it rests on, then what to do; the same as
// markdown.
#include <algorithm>
#include <iomanip>
#include <sstream>
#include <string_view>
#include <utility>

#include "daemon/diagnose/print.h"
#include "daemon/logs/shown.h"

namespace collwatch::diagnose {
namespace {

using Change = std::string (*)(const std::string&);

constexpr std::size_t kShownFindings = 8;
constexpr std::size_t kShownRanks = 16;

struct Style {
  const char* bold;
  const char* red;
  const char* green;
  const char* dim;
  const char* off;
};
constexpr Style kPlain = {"", "", "", "", ""};
constexpr Style kColour = {"\x1b[1m", "\x1b[1;31m", "\x1b[1;32m", "\x1b[2m", "\x1b[0m"};

std::string title_of(const Diagnosis& diagnosis, const catalogue::Catalogue& catalogue) {
  const catalogue::Entry* const entry = catalogue.find(diagnosis.verdict.fingerprint);
  return entry == nullptr ? "" : entry->title;
}

std::string culprit(const Verdict& verdict) {
  if (!verdict.initiating) return "culprit not known";
  std::string text;
  if (verdict.initiating->rank) text = "rank " + std::to_string(*verdict.initiating->rank);
  if (verdict.initiating->host)
    text += (text.empty() ? "host " : " on ") + *verdict.initiating->host;
  return text.empty() ? "culprit not known" : text;
}

std::string who(const Finding& finding) {
  std::string text = finding.rank ? "rank " + std::to_string(*finding.rank) : std::string("-");
  if (finding.host && !finding.rank) text = *finding.host;
  return text;
}

std::string megabytes(long bytes) {
  std::ostringstream out;
  if (bytes < 1024 * 1024) {
    out << (bytes + 1023) / 1024 << " KiB";
  } else {
    out << std::fixed << std::setprecision(1) << static_cast<double>(bytes) / 1048576.0 << " MiB";
  }
  return out.str();
}

std::string footer(const Scanned& scanned) {
  std::ostringstream out;
  out << scanned.files << (scanned.files == 1 ? " file, " : " files, ") << megabytes(scanned.bytes)
      << ", " << std::fixed << std::setprecision(2) << scanned.seconds << " s";
  return out.str();
}

void indented(std::ostringstream& out, const std::string& text) {
  std::istringstream lines(text);
  std::string line;
  while (std::getline(lines, line)) out << "  " << line << "\n";
}

void section(std::ostringstream& out, const Style& style, const char* name,
             const std::string& text) {
  if (text.empty()) return;
  out << "\n" << style.bold << name << style.off << "\n";
  indented(out, text);
}

std::string one_line(const std::string& text) {
  return logs::shown(text);
}

/// The catalogue's advice has lines; what was filled into it has none.
std::string with_lines(const std::string& text) {
  return logs::shown(text, logs::Lines::keep);
}

/// A sentence in markdown: what a log or a name holds must not become a heading, a link, a picture,
/// HTML, or code that swallows the rest of the page.
std::string plain_markdown(const std::string& text) {
  std::string out;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    const bool begins = i == 0 || text[i - 1] == '\n';
    const bool is_active =
        c == '<' || c == '`' || c == '*' || (c == '(' && i > 0 && text[i - 1] == ']');
    const bool is_marker = begins && std::string_view("#>-+=~|_").find(c) != std::string_view::npos;
    if (is_active || is_marker) out += '\\';
    out += c;
  }
  return out;
}

std::string sentence_in_markdown(const std::string& text) {
  return plain_markdown(one_line(text));
}

std::string advice_in_markdown(const std::string& text) {
  return plain_markdown(with_lines(text));
}

/// The diagnosis with everything fit to be printed: sentences and advice as the format wants them,
/// what stands in columns and in blocks of code as one line each.
Diagnosis fit(Diagnosis diagnosis, Change sentence, Change advice) {
  Verdict& verdict = diagnosis.verdict;
  verdict.root_cause = sentence(verdict.root_cause);
  for (std::string& text : verdict.why) text = sentence(text);
  for (std::string& text : verdict.missing_evidence) text = sentence(text);
  verdict.next_action = sentence(verdict.next_action);
  verdict.fix = advice(verdict.fix);
  verdict.verify = with_lines(verdict.verify);
  if (verdict.initiating && verdict.initiating->host)
    verdict.initiating->host = sentence(*verdict.initiating->host);
  for (Finding& finding : diagnosis.findings) {
    finding.file = one_line(finding.file);
    finding.text = one_line(finding.text);
    if (finding.host) finding.host = one_line(*finding.host);
  }
  if (diagnosis.agent) diagnosis.agent->text = sentence(diagnosis.agent->text);
  return diagnosis;
}

/// Ranks by how they ended, a line for each way.
std::string ends(const std::vector<RankEnd>& ranks) {
  std::map<std::string, std::vector<int>> by_state;
  for (const RankEnd& end : ranks) by_state[end.state].push_back(end.rank);
  std::string text;
  for (const auto& [state, list] : by_state) {
    text += state + ":";
    for (std::size_t i = 0; i < std::min(list.size(), kShownRanks); ++i)
      text += " " + std::to_string(list[i]);
    if (list.size() > kShownRanks)
      text += " and " + std::to_string(list.size() - kShownRanks) + " more";
    text += "\n";
  }
  return text;
}

std::string bullets(const std::vector<std::string>& items) {
  std::string text;
  for (const std::string& item : items) text += "- " + item + "\n";
  return text;
}

}  // namespace

std::string to_text(const Diagnosis& raw, const catalogue::Catalogue& catalogue, bool colour) {
  const Diagnosis diagnosis = fit(raw, one_line, with_lines);
  const Style& style = colour ? kColour : kPlain;
  const Verdict& verdict = diagnosis.verdict;
  std::ostringstream out;
  if (verdict.fingerprint == model::Fingerprint::none) {
    out << style.green << "none" << style.off << ": " << verdict.root_cause << "\n"
        << verdict.next_action << "\n";
    if (diagnosis.agent) section(out, style, "Probes", diagnosis.agent->text);
    if (!verdict.missing_evidence.empty())
      section(out, style, "Not known", bullets(verdict.missing_evidence));
    out << "\n" << style.dim << footer(diagnosis.scanned) << style.off << "\n";
    return out.str();
  }
  out << style.red << model::name(verdict.fingerprint) << style.off << "  " << style.bold
      << culprit(verdict) << style.off << "  (" << model::name(verdict.confidence)
      << " confidence)\n";
  const std::string title = title_of(diagnosis, catalogue);
  if (!title.empty()) out << title << "\n";
  out << verdict.root_cause << "\n";
  section(out, style, "Why", bullets(verdict.why));
  out << "\n" << style.bold << "Evidence" << style.off << "\n";
  for (std::size_t i = 0; i < std::min(diagnosis.findings.size(), kShownFindings); ++i) {
    const Finding& finding = diagnosis.findings[i];
    out << "  " << finding.file << ":" << finding.line << "  " << who(finding) << "\n    "
        << finding.text << "\n";
  }
  if (diagnosis.findings.size() > kShownFindings) {
    out << "  " << style.dim << "and " << diagnosis.findings.size() - kShownFindings
        << " more (--format json)" << style.off << "\n";
  }
  section(out, style, "Ranks", ends(diagnosis.ranks));
  if (diagnosis.agent) section(out, style, "Probes", diagnosis.agent->text);
  section(out, style, "Not known", bullets(verdict.missing_evidence));
  section(out, style, "Next", verdict.next_action);
  section(out, style, "Fix", verdict.fix);
  section(out, style, "Verify", verdict.verify);
  out << "\n"
      << style.dim << footer(diagnosis.scanned) << "; more: collwatch explain "
      << model::name(verdict.fingerprint) << style.off << "\n";
  return out.str();
}

std::string to_markdown(const Diagnosis& raw, const catalogue::Catalogue& catalogue) {
  const Diagnosis diagnosis = fit(raw, sentence_in_markdown, advice_in_markdown);
  const Verdict& verdict = diagnosis.verdict;
  std::ostringstream out;
  out << "## collwatch: `" << model::name(verdict.fingerprint) << "`";
  if (verdict.fingerprint == model::Fingerprint::none) {
    out << "\n\n" << verdict.root_cause << ". " << verdict.next_action << "\n";
    if (diagnosis.agent) out << "\n### Probes\n\n" << diagnosis.agent->text << "\n";
    if (!verdict.missing_evidence.empty())
      out << "\n### Not known\n\n" << bullets(verdict.missing_evidence);
    return out.str();
  }
  out << ", " << culprit(verdict) << " (" << model::name(verdict.confidence) << " confidence)\n\n";
  const std::string title = title_of(diagnosis, catalogue);
  if (!title.empty()) out << title << ". ";
  out << verdict.root_cause << "\n\n### Why\n\n"
      << bullets(verdict.why) << "\n### Evidence\n\n```\n";
  for (std::size_t i = 0; i < std::min(diagnosis.findings.size(), kShownFindings); ++i) {
    const Finding& finding = diagnosis.findings[i];
    out << finding.file << ":" << finding.line << "  " << who(finding) << "  " << finding.text
        << "\n";
  }
  out << "```\n";
  if (!diagnosis.ranks.empty()) out << "\n### Ranks\n\n```\n" << ends(diagnosis.ranks) << "```\n";
  if (diagnosis.agent) out << "\n### Probes\n\n" << diagnosis.agent->text << "\n";
  if (!verdict.missing_evidence.empty())
    out << "\n### Not known\n\n" << bullets(verdict.missing_evidence);
  out << "\n### Next\n\n" << verdict.next_action << "\n";
  if (!verdict.fix.empty()) out << "\n### Fix\n\n" << verdict.fix << "\n";
  if (!verdict.verify.empty()) out << "\n### Verify\n\n```\n" << verdict.verify << "\n```\n";
  out << "\n_" << footer(diagnosis.scanned) << "_\n";
  return out.str();
}

}  // namespace collwatch::diagnose
