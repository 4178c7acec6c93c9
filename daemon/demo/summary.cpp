// SPDX-License-Identifier: Apache-2.0
//
// Words and numbers from a Report, nothing else.
#include "daemon/demo/summary.h"

#include <cmath>
#include <cstdio>

#include "daemon/demo/notes.h"

namespace collwatch::demo {
namespace {

/// "n0, n1 and n3"
template <typename Names>
std::string listed(const Names& names) {
  std::string text;
  std::size_t i = 0;
  for (const std::string& name : names) {
    const bool last = ++i == names.size();
    if (i > 1) text += last ? " and " : ", ";
    text += name;
  }
  return text;
}

std::vector<std::string> node_names(const std::set<int>& nodes) {
  std::vector<std::string> names;
  for (const int node : nodes) names.push_back(node_name(node));
  return names;
}

/// "n0, n1 and n3 named node n2 (host_stall) after 0.9 s and paged after 2.1 s"
std::string what_was_said(const FaultOutcome& outcome) {
  if (!outcome.suspect_after) return "nobody named it";
  const VerdictView& verdict = *outcome.verdict;
  std::string text = listed(node_names(outcome.namers)) + " named " +
                     std::string(model::name(verdict.kind)) + " " + verdict.entity + " (" +
                     std::string(model::name(verdict.reason)) + ") after " +
                     seconds_text(*outcome.suspect_after);
  if (outcome.ticket_after) {
    text += " and filed a ticket after " + seconds_text(*outcome.ticket_after);
  }
  if (outcome.page_after) text += " and paged after " + seconds_text(*outcome.page_after);
  if (!outcome.clear_after) return text;
  const std::string since = outcome.repaired_at ? " after the repair" : " after that";
  return text + "; all clear " + seconds_text(*outcome.clear_after) + since;
}

std::string one_fault(const Plan& plan, const FaultOutcome& outcome, double healthy) {
  std::string text = describe(plan.fault);
  if (!outcome.injected_at && !outcome.failed.empty()) {
    return plan.fault.spec + " could not be injected: " + outcome.failed;
  }
  if (!outcome.injected_at) return text + ": not reached";
  if (plan.fault.kind != FaultKind::absent) {
    text += " at " + seconds_text(*outcome.injected_at - healthy);
  }
  return plan.expected.empty() ? text : text + "; " + what_was_said(outcome);
}

std::string number(const std::optional<double>& seconds) {
  if (!seconds) return "null";
  char text[32];
  std::snprintf(text, sizeof text, "%.3f", std::max(0.0, *seconds));
  return text;
}

std::string expectation_json(const Expectation& e) {
  return "{\"kind\": " + json_string(model::name(e.kind)) +
         ", \"entity\": " + json_string(e.entity) +
         ", \"reason\": " + json_string(model::name(e.reason)) +
         ", \"state\": " + json_string(model::name(e.state)) + "}";
}

std::string fault_json(const Plan& plan, const FaultOutcome& outcome) {
  std::string expected;
  for (const Expectation& e : plan.expected) {
    expected += (expected.empty() ? "" : ", ") + expectation_json(e);
  }
  return "{\"spec\": " + json_string(plan.fault.spec) + ", \"expected\": [" + expected +
         "], \"verdict\": " + (outcome.verdict ? outcome.verdict->json : "null") +
         ", \"seconds_to_suspect\": " + number(outcome.suspect_after) +
         ", \"seconds_to_page\": " + number(outcome.page_after) +
         ", \"seconds_to_clear\": " + number(outcome.clear_after) + "}";
}

}  // namespace

std::string sentence(const Watcher& watcher, double healthy, double watched) {
  const Report report = watcher.report();
  std::string text;
  bool someone_named = false;
  for (std::size_t i = 0; i < report.faults.size(); ++i) {
    if (i > 0) text += "; ";
    text += one_fault(watcher.plans()[i], report.faults[i], healthy);
    someone_named = someone_named || report.faults[i].suspect_after.has_value();
  }
  if (report.faults.empty()) text = "the agents watched each other for " + seconds_text(watched);
  const std::string nobody = someone_named ? "nobody else" : "nobody";
  if (report.wrongly_suspected.empty() && report.innocents.empty()) {
    return text + "; " + nobody + " was blamed.";
  }
  std::set<std::string> suspected;
  for (const std::string& entity : report.wrongly_suspected) {
    if (!report.innocents.contains(entity)) suspected.insert(entity);
  }
  if (!report.innocents.empty()) text += "; wrongly paged: " + listed(report.innocents);
  if (!suspected.empty()) text += "; wrongly suspected: " + listed(suspected);
  return text + ".";
}

std::string summary_json(const Watcher& watcher) {
  const Report report = watcher.report();
  std::string faults;
  for (std::size_t i = 0; i < report.faults.size(); ++i) {
    faults += (i == 0 ? "" : ", ") + fault_json(watcher.plans()[i], report.faults[i]);
  }
  return "{\"faults\": [" + faults +
         "], \"innocent_pages\": " + std::to_string(report.innocent_pages) +
         ", \"wrong_suspects\": " + std::to_string(report.wrong_suspects) + "}";
}

}  // namespace collwatch::demo
