// SPDX-License-Identifier: Apache-2.0
//
// The network explains waiting and lost peers, and nothing else: an error of a rank's own stays
// one, whatever the probes see.
#include "daemon/diagnose/agent_word.h"

#include <algorithm>
#include <array>
#include <cctype>
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
/// A round of an agent that is set up as shipped; no agent tells its own.
constexpr double kRoundSeconds = 1;

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

std::string clock_of(double seconds) {
  const auto whole = static_cast<std::time_t>(seconds);
  std::tm parts{};
  gmtime_r(&whole, &parts);
  std::array<char, 32> text{};
  std::strftime(text.data(), text.size(), "%Y-%m-%dT%H:%M:%SZ", &parts);
  return text.data();
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

/// What of the log is compared: the failure, or where there is none, all of it.
struct Span {
  double from = 0;
  double to = 0;
};

std::optional<Span> lines_of(const Diagnosis& diagnosis) {
  std::optional<Span> span;
  for (const std::string& time : diagnosis.course.times) {
    const auto seconds = epoch_seconds(time);
    if (!seconds) continue;
    if (!span) span = Span{*seconds, *seconds};
    span->from = std::min(span->from, *seconds);
    span->to = std::max(span->to, *seconds);
  }
  return span;
}

std::optional<Span> span_of(const Diagnosis& diagnosis) {
  if (const auto then = time_of(diagnosis)) return Span{*then, *then};
  return lines_of(diagnosis);
}

/// "Node-B.cluster.example" and "node-b" are one host.
std::string short_name(const std::string& host) {
  std::string name = host.substr(0, host.find('.'));
  std::transform(name.begin(), name.end(), name.begin(),
                 [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  return name;
}

bool is_name(const std::string& host) {
  const bool is_address = host.find(':') != std::string::npos ||
                          host.find_first_not_of("0123456789.") == std::string::npos;
  return !is_address && short_name(host) != "localhost";
}

/// A host that the logs name, if the agent's ring holds none of those.
std::optional<std::string> stranger(const Diagnosis& diagnosis, const AgentWord& word) {
  if (word.members.empty()) return std::nullopt;
  std::optional<std::string> first;
  for (const std::string& host : diagnosis.mentioned.hosts) {
    if (!is_name(host)) continue;
    for (const std::string& member : word.members) {
      if (short_name(member) == short_name(host)) return std::nullopt;
    }
    if (!first) first = host;
  }
  return first;
}

/// Whether peers were connected when it failed: a connection that was never there is not lost.
bool had_started(const Diagnosis& diagnosis) {
  const Fingerprint fingerprint = diagnosis.verdict.fingerprint;
  return diagnosis.course.trained || fingerprint == Fingerprint::gloo_peer_lost ||
         fingerprint == Fingerprint::nccl_remote_error;
}

/// Why a fault that stood at the time did not break the job; empty: it may have.
std::string excuse(const Diagnosis& diagnosis, const AgentVerdict& verdict) {
  if (!had_started(diagnosis)) return "";
  if (verdict.reason == "never_joined") return "who never joined was not lost while the job ran";
  const auto since = epoch_seconds(verdict.since);
  const auto lines = lines_of(diagnosis);
  if (since && lines && *since < lines->from - kSlackSeconds)
    return "the job started and ran after that, so it is not what broke it";
  return "";
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

/// Why this agent is no witness of this log at all; empty: it may be one.
std::string no_witness(const Diagnosis& diagnosis, const AgentWord& word) {
  if (const auto host = stranger(diagnosis, word)) {
    return "these logs name " + *host + ", and no host of theirs is a member of the ring of " +
           word.node + ": ask an agent of the job's own";
  }
  const auto span = span_of(diagnosis);
  if (span && span->from > word.asked_at + kSlackSeconds) {
    return "these logs are of " + clock_of(span->from) +
           ", later than now: their clock or zone is wrong";
  }
  return "";
}

/// Clean rounds clear the network for as far back as they go.
void judge_clean(Diagnosis& diagnosis, AgentWord& word) {
  word.relation = Relation::blind;
  if (!word.clean_rounds || *word.clean_rounds < kCleanRounds) {
    word.text = "the agent on " + word.node + " has not watched for long enough to tell";
    return;
  }
  const double since = word.asked_at - static_cast<double>(*word.clean_rounds) * kRoundSeconds;
  const auto span = span_of(diagnosis);
  if (span && span->to < since - kSlackSeconds) {
    word.text = "the agent on " + word.node + " cannot tell: it has been clean since " +
                clock_of(since) + ", and these logs are of " + clock_of(span->to) + ", before that";
    return;
  }
  rule_out_network(diagnosis, word);
}

void tell_beside(AgentWord& word, const AgentVerdict& verdict, const std::string& why) {
  word.relation = Relation::beside;
  word.text = "the probes say: " + trouble(verdict) + why;
}

void judge_word(Diagnosis& diagnosis, AgentWord& word) {
  if (const std::string why = no_witness(diagnosis, word); !why.empty()) {
    word.relation = Relation::blind;
    word.text = why;
    return;
  }
  const bool is_network = is_explained_by_network(diagnosis.verdict.fingerprint);
  const auto then = time_of(diagnosis);
  const AgentVerdict* excused = nullptr;
  for (const auto* list : {&word.verdicts, &word.past}) {
    for (const AgentVerdict& verdict : *list) {
      const bool is_past = list == &word.past;
      if (then ? !was_then(verdict, *then) : is_past) continue;
      if (!is_network) {
        return tell_beside(word, verdict,
                           diagnosis.verdict.fingerprint == Fingerprint::none
                               ? ", of which these logs show nothing"
                               : ", which does not explain what stands in these logs");
      }
      if (excuse(diagnosis, verdict).empty()) return blame_network(diagnosis, word, verdict);
      if (excused == nullptr) excused = &verdict;
    }
  }
  if (excused != nullptr)
    return tell_beside(word, *excused, "; but " + excuse(diagnosis, *excused));
  if (!word.verdicts.empty()) {  // there is a fault now, but not when the log was written
    return tell_beside(word, word.verdicts.front(), ", later than these logs");
  }
  if (!then && !word.past.empty() && is_network) {
    word.relation = Relation::past;
    word.text = "the probes say: nothing is wrong now, but " + trouble(word.past.front()) +
                "; if the log is of that time, its " + echo(diagnosis.verdict.fingerprint) +
                " is the echo";
    return;
  }
  judge_clean(diagnosis, word);
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
    if (const std::string same = same_refusal(diagnosis, word.node, word.torch); !same.empty())
      diagnosis.verdict.why.push_back(same);
  }
  diagnosis.agent = std::move(word);
}

}  // namespace collwatch::diagnose
