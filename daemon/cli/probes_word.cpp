// SPDX-License-Identifier: Apache-2.0
//
// Status for what stands, events for what is over.
#include "daemon/cli/probes_word.h"

#include <algorithm>
#include <cstdio>
#include <ctime>
#include <map>

#include "daemon/cli/agent_url.h"

namespace collwatch::cli {
namespace {

constexpr double kStaleSeconds = 30;  ///< without a round an agent sees nothing
constexpr int kUnwell = 4;            ///< of 8: from here on an agent mutes itself
constexpr std::size_t kMostPast = 8;

diagnose::AgentVerdict plain(const StatusReply::Verdict& verdict) {
  return {verdict.kind,  verdict.entity,     verdict.reason, verdict.fingerprint,
          verdict.state, verdict.since_text, std::nullopt};
}

/// A fault of this node's own eyes proves nothing about the network; being cut off does.
bool is_of_network(const StatusReply::Verdict& verdict) {
  return verdict.kind != "self" || verdict.reason == "isolated";
}

/// Why this agent cannot tell anything; empty: it can.
std::string blindness(const StatusReply& status) {
  for (const StatusReply::Worker& worker : status.workers) {
    if (worker.state != "running" && worker.backend == "gloo")
      return "its probe worker does not run" + (worker.text.empty() ? "" : ": " + worker.text);
  }
  if (status.round_number == 0) return "it has done no round yet";
  if (status.round_age_seconds > kStaleSeconds) {
    char text[64];
    std::snprintf(text, sizeof text, "its last round is %.0f s ago", status.round_age_seconds);
    return text;
  }
  if (status.local_health >= kUnwell) return "it runs too late itself to be sure";
  return "";
}

/// Verdicts that were told to people and are over, newest first.
std::vector<diagnose::AgentVerdict> past_of(const std::vector<VerdictEvent>& events) {
  std::map<std::string, diagnose::AgentVerdict> open;
  std::vector<diagnose::AgentVerdict> past;
  for (const VerdictEvent& event : events) {
    const StatusReply::Verdict& verdict = event.verdict;
    const std::string key = verdict.kind + " " + verdict.entity;
    if (verdict.state != "cleared") {
      if (verdict.state != "suspect" && is_of_network(verdict)) open[key] = plain(verdict);
      continue;
    }
    const auto it = open.find(key);
    if (it == open.end()) continue;
    it->second.until = event.time_text;
    past.push_back(it->second);
    open.erase(it);
  }
  std::reverse(past.begin(), past.end());
  if (past.size() > kMostPast) past.resize(kMostPast);
  return past;
}

}  // namespace

diagnose::AgentWord word_of(const StatusReply& status, const std::vector<VerdictEvent>& events) {
  diagnose::AgentWord word;
  word.answered = true;
  word.node = status.node;
  word.round = status.round_number;
  word.clean_rounds = status.clean_rounds;
  word.problem = blindness(status);
  for (const StatusReply::Member& member : status.members) word.members.push_back(member.name);
  for (const StatusReply::Verdict& verdict : status.verdicts) {
    if (is_of_network(verdict)) word.verdicts.push_back(plain(verdict));
  }
  word.past = past_of(events);
  word.torch.version = status.torch;
  for (const StatusReply::Refusal& refusal : status.refusals)
    word.torch.refusals.push_back({refusal.text, refusal.calls});
  return word;
}

diagnose::AgentWord ask_for_word(const std::string& given) {
  const std::string url = agent_url(given);
  diagnose::AgentWord word;
  const auto body = ask_agent(url, "/api/v1/status");
  const auto status =
      body ? parse_status(*body) : model::Result<StatusReply>(model::fail(body.error()));
  if (!status) {
    word.problem = body ? url + ": " + status.error().text : status.error().text;
  } else {
    // Without its events an agent still knows what stands.
    const auto events_body = ask_agent(url, "/api/v1/events");
    const auto events = events_body ? parse_verdict_events(*events_body)
                                    : model::Result<std::vector<VerdictEvent>>();
    word = word_of(*status, events ? *events : std::vector<VerdictEvent>());
  }
  word.url = url;
  word.asked_at = static_cast<double>(std::time(nullptr));
  return word;
}

}  // namespace collwatch::cli
