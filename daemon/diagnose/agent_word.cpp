// SPDX-License-Identifier: Apache-2.0
//
// The network explains waiting and lost peers, and nothing else: an error of a rank's own stays
// one, whatever the probes see.
#include "daemon/diagnose/agent_word.h"

#include <algorithm>
#include <cstdio>
#include <ctime>

#include "daemon/diagnose/diagnosis.h"
#include "daemon/diagnose/judgement.h"

namespace collwatch::diagnose {
namespace {

using model::Fingerprint;

/// So many rounds on end make a clean network; fewer, an agent that has just started.
constexpr std::int64_t kCleanRounds = 10;
/// Clocks of log and agent may differ by that much.
constexpr double kSlackSeconds = 60;

std::optional<double> epoch_seconds(const std::string& text) {
  std::tm parts{};
  double second = 0;
  int used = 0;
  const int got =
      std::sscanf(text.c_str(), "%4d-%2d-%2dT%2d:%2d:%lf%n", &parts.tm_year, &parts.tm_mon,
                  &parts.tm_mday, &parts.tm_hour, &parts.tm_min, &second, &used);
  if (got != 6) return std::nullopt;
  parts.tm_year -= 1900;
  parts.tm_mon -= 1;
  int hours = 0;
  int minutes = 0;
  const std::string zone = text.substr(static_cast<std::size_t>(used));
  if (zone != "Z") {
    const bool signed_zone = !zone.empty() && (zone[0] == '+' || zone[0] == '-');
    if (!signed_zone || std::sscanf(zone.c_str() + 1, "%2d:%2d", &hours, &minutes) < 1)
      return std::nullopt;
  }
  const int offset = (hours * 60 + minutes) * 60 * (zone[0] == '-' ? -1 : 1);
  return static_cast<double>(timegm(&parts)) + second - offset;
}

bool is_explained_by_network(Fingerprint fingerprint) {
  return fingerprint != Fingerprint::none && fingerprint != Fingerprint::job_cancelled &&
         fingerprint != Fingerprint::collective_desync && !is_own_error(fingerprint);
}

/// "link node-a<->node-b", "node node-c".
std::string subject(const AgentVerdict& verdict) {
  if (verdict.kind == "directed_link") return "link " + verdict.entity;
  if (verdict.kind == "node_egress" || verdict.kind == "node_ingress" ||
      verdict.kind == "misconfig" || verdict.kind == "self") {
    return "node " + verdict.entity;
  }
  return verdict.kind + " " + verdict.entity;
}

std::string trouble(const AgentVerdict& verdict) {
  const std::string what = subject(verdict) + " (" + verdict.reason + ")";
  if (verdict.until) return what + " failed from " + verdict.since + " to " + *verdict.until;
  return what + " has been failing since " + verdict.since;
}

/// When the failure was, by the log's own clock.
std::optional<double> time_of(const Diagnosis& diagnosis) {
  for (const Finding& finding : diagnosis.findings) {
    if (!finding.time) continue;
    if (const auto seconds = epoch_seconds(*finding.time)) return seconds;
  }
  return std::nullopt;
}

bool was_then(const AgentVerdict& verdict, double then) {
  const auto since = epoch_seconds(verdict.since);
  const auto until = verdict.until ? epoch_seconds(*verdict.until) : std::nullopt;
  return since && then >= *since - kSlackSeconds && (!until || then <= *until + kSlackSeconds);
}

std::string suspect_of(const Diagnosis& diagnosis) {
  const auto& who = diagnosis.verdict.initiating;
  if (who && who->rank) return "rank " + std::to_string(*who->rank) + "'s code";
  return "the job itself";
}

/// What stands in the log, in a word that fits "the log's ... is its echo".
std::string echo(Fingerprint fingerprint) {
  const bool is_lost = fingerprint == Fingerprint::gloo_peer_lost ||
                       fingerprint == Fingerprint::nccl_remote_error ||
                       fingerprint == Fingerprint::nccl_socket_error;
  return is_lost ? "lost peer" : "timeout";
}

/// The logs knew nobody: the probes do.
void name_culprit(Diagnosis& diagnosis, const AgentVerdict& verdict) {
  Verdict& ours = diagnosis.verdict;
  const bool is_node = verdict.kind == "node" || verdict.kind == "node_egress" ||
                       verdict.kind == "node_ingress" || verdict.kind == "self";
  if (ours.initiating || !is_node) return;
  ours.initiating.emplace().host = verdict.entity;
  if (ours.confidence == model::Confidence::low) ours.confidence = model::Confidence::medium;
}

void blame_network(Diagnosis& diagnosis, AgentWord& word, const AgentVerdict& verdict) {
  word.relation = Relation::culprit;
  word.text = "the probes say: " + trouble(verdict) + "; the log's " +
              echo(diagnosis.verdict.fingerprint) + " is its echo";
  diagnosis.verdict.next_action = "Repair " + subject(verdict) + " first (" + verdict.reason +
                                  ", as the agent on " + word.node +
                                  " sees it): the probes fail there without the job.";
  name_culprit(diagnosis, verdict);
}

void rule_out_network(Diagnosis& diagnosis, AgentWord& word) {
  word.relation = Relation::clean;
  word.text = "the fabric has been clean for " + std::to_string(*word.clean_rounds) +
              " rounds, as the probes on " + word.node + " see it";
  Verdict& ours = diagnosis.verdict;
  if (ours.fingerprint == Fingerprint::none || ours.fingerprint == Fingerprint::job_cancelled)
    return;
  word.text += ": look at " + suspect_of(diagnosis) + ", not at the network";
  if (is_explained_by_network(ours.fingerprint)) {
    ours.next_action += (ours.next_action.empty() ? "" : " ");
    ours.next_action += "The network is well: look at " + suspect_of(diagnosis) + ".";
  }
}

void judge_word(Diagnosis& diagnosis, AgentWord& word) {
  const bool is_network = is_explained_by_network(diagnosis.verdict.fingerprint);
  const auto then = time_of(diagnosis);
  for (const auto* list : {&word.verdicts, &word.past}) {
    for (const AgentVerdict& verdict : *list) {
      const bool is_past = list == &word.past;
      if (then ? !was_then(verdict, *then) : is_past) continue;
      if (is_network) return blame_network(diagnosis, word, verdict);
      word.relation = Relation::beside;
      word.text = "the probes say: " + trouble(verdict) +
                  (diagnosis.verdict.fingerprint == Fingerprint::none
                       ? ", of which these logs show nothing"
                       : ", which does not explain what stands in these logs");
      return;
    }
  }
  if (!word.verdicts.empty()) {  // there is a fault now, but not when the log was written
    word.relation = Relation::beside;
    word.text = "the probes say: " + trouble(word.verdicts.front()) + ", later than these logs";
    return;
  }
  if (!then && !word.past.empty() && is_network) {
    word.relation = Relation::past;
    word.text = "the probes say: nothing is wrong now, but " + trouble(word.past.front()) +
                "; if the log is of that time, its " + echo(diagnosis.verdict.fingerprint) +
                " is the echo";
    return;
  }
  if (word.clean_rounds && *word.clean_rounds >= kCleanRounds) {
    return rule_out_network(diagnosis, word);
  }
  word.relation = Relation::blind;
  word.text = "the agent on " + word.node + " has not watched for long enough to tell";
}

}  // namespace

const char* relation_name(Relation relation) {
  switch (relation) {
    case Relation::unreachable:
      return "unreachable";
    case Relation::blind:
      return "blind";
    case Relation::clean:
      return "clean";
    case Relation::culprit:
      return "culprit";
    case Relation::past:
      return "past";
    case Relation::beside:
      return "beside";
  }
  return "unreachable";
}

void join(Diagnosis& diagnosis, AgentWord word) {
  if (!word.answered) {
    word.relation = Relation::unreachable;
    word.text = word.problem;
    diagnosis.verdict.missing_evidence.push_back("the probes' word: " + word.problem);
  } else if (!word.problem.empty()) {
    word.relation = Relation::blind;
    word.text = "the agent on " + word.node + " cannot tell: " + word.problem;
  } else {
    judge_word(diagnosis, word);
    if (diagnosis.verdict.fingerprint != Fingerprint::none)
      diagnosis.verdict.why.push_back(word.text);
  }
  diagnosis.agent = std::move(word);
}

}  // namespace collwatch::diagnose
