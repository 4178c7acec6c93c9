// SPDX-License-Identifier: Apache-2.0
//
// The diagnosis for people: the verdict first, the lines it rests on, then what to do; the same as
// markdown.
#include <algorithm>
#include <iomanip>
#include <sstream>

#include "daemon/diagnose/print.h"

namespace collwatch::diagnose {
namespace {

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

std::string to_text(const Diagnosis& diagnosis, const catalogue::Catalogue& catalogue,
                    bool colour) {
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

std::string to_markdown(const Diagnosis& diagnosis, const catalogue::Catalogue& catalogue) {
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
