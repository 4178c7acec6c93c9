// SPDX-License-Identifier: Apache-2.0
//
// Putting the diagnosis together.
#include "daemon/diagnose/conclude.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <cstdlib>
#include <set>
#include <string_view>

#include "daemon/diagnose/judgement.h"
#include "daemon/diagnose/numbers.h"
#include "daemon/logs/shown.h"

namespace collwatch::diagnose {
namespace {

using catalogue::Role;
using model::Fingerprint;

constexpr std::size_t kMostFindings = 60;

/// Gloo prints its ports with the two bytes exchanged.
std::string real_port(const std::string& printed) {
  const long port = std::strtol(printed.c_str(), nullptr, 10);
  if (port <= 0 || port > 65535) return printed;
  return std::to_string(((port & 0xff) << 8) | (port >> 8));
}

std::map<std::string, std::string> public_fields(const Event& event) {
  std::map<std::string, std::string> fields;
  for (const auto& [name, value] : event.fields) {
    if (name != "peer_ip" && name != "peer_port") fields[name] = value;
  }
  const std::string* const ip = event.field("peer_ip");
  if (ip != nullptr) {
    const std::string* const port = event.field("peer_port");
    const bool is_v6 = ip->find(':') != std::string::npos;
    std::string peer = is_v6 ? "[" + *ip + "]" : *ip;
    if (port != nullptr) peer += ":" + real_port(*port);
    fields["peer"] = peer;
  }
  if (!event.op.empty()) fields.try_emplace("op", event.op == "backward" ? "all_reduce" : event.op);
  if (!event.code.empty()) fields.try_emplace("code", event.code);
  return fields;
}

std::optional<std::string> time_of(const Event& event) {
  if (!tells_zone(event.who.time)) return std::nullopt;
  return event.who.time;
}

Finding finding_of(const Job& job, const Event& event) {
  Finding finding;
  finding.fingerprint = event.fingerprint;
  finding.role = event.role;
  finding.rank = event.rank;
  if (!event.who.host.empty()) finding.host = event.who.host;
  finding.file = job.file(event.place).source.name;
  finding.line = event.place.line;
  finding.time = time_of(event);
  finding.text = event.text;
  finding.fields = public_fields(event);
  if (!finding.time && !event.who.time.empty()) finding.fields["time_as_written"] = event.who.time;
  return finding;
}

/// What the verdict rests on first, then the first failure of each rank, then the rest.
std::vector<Finding> findings_of(const Job& job, const std::optional<Judgement>& judgement) {
  std::vector<const Event*> order;
  const auto add = [&](const Event* event) {
    if (event == nullptr || event->pattern.empty() || event->pattern == "wrapper") return;
    if (std::find(order.begin(), order.end(), event) == order.end()) order.push_back(event);
  };
  if (judgement) {
    add(judgement->event);
    if (job.flight) {
      for (const Event& event : job.flight->events) {
        if (order.size() < kMostFindings / 2) add(&event);
      }
    }
    for (const auto& [rank, story] : job.ranks) {
      if (order.size() < kMostFindings) add(story.first);
    }
    for (const Event* event : job.all) {
      if (order.size() >= kMostFindings) break;
      if (event->is_strong) add(event);
    }
  }
  std::vector<Finding> findings;
  for (const Event* event : order) findings.push_back(finding_of(job, *event));
  return findings;
}

std::string state_of(const RankStory& story, bool failed) {
  if (story.first != nullptr) {
    if (story.first->role == Role::initiating) return "failed";
    return story.first->role == Role::collateral ? "lost_peer" : "failed_waiting";
  }
  if (story.exit != nullptr && story.exit->code < 0 && story.exit->code != -15) return "killed";
  if (story.waits_in_dump && failed) return "failed_waiting";
  if (!story.has_log && !story.has_dump) return "no_log";
  return failed ? "silent" : "ok";
}

std::vector<RankEnd> ends_of(const Job& job, bool failed) {
  std::vector<RankEnd> ends;
  for (const auto& [rank, story] : job.ranks) {
    RankEnd end;
    end.rank = rank;
    end.state = state_of(story, failed);
    if (story.last.line > 0) end.last_line = story.last.line;
    ends.push_back(end);
  }
  return ends;
}

std::optional<Initiating> initiating_of(const Job& job, const Judgement& judgement) {
  if (!judgement.rank && judgement.host.empty()) return std::nullopt;
  Initiating who;
  who.rank = judgement.rank;
  who.group_rank = judgement.group_rank;
  if (!judgement.host.empty()) who.host = judgement.host;
  Place place = judgement.place;
  const auto it = judgement.rank ? job.ranks.find(*judgement.rank) : job.ranks.end();
  if (it != job.ranks.end()) {
    const RankStory& story = it->second;
    if (!who.host && !story.host.empty()) who.host = story.host;
    who.local_rank = story.local_rank;
    who.pid = story.pid;
    // Where the evidence is somebody else's, its own last line is where to look.
    const bool is_own = judgement.event != nullptr && judgement.event->rank == judgement.rank;
    if (!is_own && story.has_log) place = story.last;
    if (!is_own && !story.has_log && judgement.event != nullptr) place = {};
  }
  if (place.file >= 0) {
    who.file = job.file(place).source.name;
    who.line = place.line;
  }
  return who;
}

std::map<std::string, std::string> values_of(const Judgement& judgement,
                                             const std::optional<Initiating>& who) {
  std::map<std::string, std::string> values;
  if (judgement.event != nullptr) {
    for (const auto& [name, value] : public_fields(*judgement.event)) values[name] = value;
  }
  values.erase("rank");
  if (who) {
    if (who->rank) values["rank"] = std::to_string(*who->rank);
    if (who->host) values["host"] = *who->host;
    if (who->file) values["file"] = *who->file;
    if (who->pid) values["pid"] = std::to_string(*who->pid);
  }
  return values;
}

/// The culprit's own log is the next thing to look at, where it is not among these and the evidence
/// is another rank's word.
void ask_for_culprits_log(const Job& job, Judgement& judgement) {
  const bool is_of_host = judgement.fingerprint == Fingerprint::host_oom_kill ||
                          judgement.fingerprint == Fingerprint::gpu_hardware_xid ||
                          judgement.fingerprint == Fingerprint::job_cancelled;
  if (!judgement.rank || is_of_host) return;
  const auto it = job.ranks.find(*judgement.rank);
  if (it != job.ranks.end() && it->second.has_log) return;
  const std::string whose = "rank " + std::to_string(*judgement.rank) + "'s own log";
  const bool is_asked_for =
      std::any_of(judgement.missing.begin(), judgement.missing.end(),
                  [&](const std::string& text) { return text.find(whose) != std::string::npos; });
  if (!is_asked_for) judgement.missing.push_back(whose);
}

/// What to do first: fetch what is missing, or look where the verdict points.
std::string next_action(const Judgement& judgement, const Verdict& verdict) {
  if (!judgement.next.empty()) return judgement.next;
  if (verdict.initiating && verdict.initiating->file &&
      judgement.confidence != model::Confidence::low) {
    std::string action = "Look at " + *verdict.initiating->file;
    if (verdict.initiating->line) action += ":" + std::to_string(*verdict.initiating->line);
    if (verdict.initiating->rank)
      action += " (rank " + std::to_string(*verdict.initiating->rank) + ")";
    if (!judgement.missing.empty()) action += "; then get " + judgement.missing.front();
    return action + ".";
  }
  if (!judgement.missing.empty())
    return "Get " + judgement.missing.front() +
           " and run collwatch diagnose on everything together.";
  return "Read the evidence below, then apply the fix.";
}

Mentioned mentioned_in(const Job& job) {
  std::set<std::string> hosts;
  Mentioned mentioned;
  for (const FileFacts& file : job.files) {
    mentioned.files.push_back(file.source.name);
    hosts.insert(file.source.hint.host);
    hosts.insert(file.hosts.begin(), file.hosts.end());
    for (const Writer& writer : file.writers) hosts.insert(writer.host);
    for (const Exit& exit : file.exits) hosts.insert(exit.host);
  }
  hosts.erase("");
  mentioned.hosts.assign(hosts.begin(), hosts.end());
  return mentioned;
}

/// "step 12", "Iteration: 100/5000", "epoch=3": a number above zero after a word for progress.
bool tells_progress(std::string text) {
  std::transform(text.begin(), text.end(), text.begin(),
                 [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  for (const std::string_view word : {"step", "iteration", "iter", "epoch"}) {
    for (std::size_t at = text.find(word); at != std::string::npos; at = text.find(word, at + 1)) {
      const std::size_t end = at + word.size();
      const std::size_t number = text.find_first_not_of(" :=#[s", end);
      if (number != std::string::npos && number - end <= 4 &&
          std::strtol(text.c_str() + number, nullptr, 10) > 0) {
        return true;
      }
    }
  }
  return false;
}

Course course_of(const Job& job) {
  Course course;
  for (const FileFacts& file : job.files) {
    if (file.is_kernel_log) continue;
    for (const std::string* time : {&file.first_time, &file.last_time}) {
      if (!time->empty()) course.times.push_back(*time);
    }
    for (const Writer& writer : file.writers) {
      course.trained = course.trained || tells_progress(writer.last_text);
    }
  }
  return course;
}

/// The ends that are not there: whatever they say, nobody has read it.
std::vector<std::string> unread_parts(const Job& job) {
  std::vector<std::string> parts;
  for (const FileFacts& file : job.files) {
    if (file.damage.empty()) continue;
    if (file.is_unread) {
      parts.push_back(file.source.name + ", which cannot be read: " + file.damage);
      continue;
    }
    parts.push_back("the rest of " + file.source.name + ": " + file.damage + "; " +
                    (file.lines == 0
                         ? std::string("no line of it could be read")
                         : "nothing after line " + std::to_string(file.lines) + " could be read"));
  }
  return parts;
}

/// One word of a command, whatever a log or the name of a file holds.
std::string word_of_shell(const std::string& value, bool may_be_quoted, const char* unknown) {
  constexpr std::string_view kHarmless =
      "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789._-+,:/@%=[]";
  if (value[0] != '-' && value.find_first_not_of(kHarmless) == std::string::npos) return value;
  if (!may_be_quoted) return unknown;
  std::string quoted = value[0] == '-' ? "'./" : "'";
  for (const char c : logs::shown(value)) {
    if (c == '\'') {
      quoted += "'\\''";
    } else {
      quoted += c;
    }
  }
  return quoted + "'";
}

/// What the dumps say where it is not the verdict itself, and what of them is not here.
void add_flight(const Job& job, const std::optional<Judgement>& judgement, Verdict& verdict) {
  if (!job.flight) return;
  const std::vector<Event>& events = job.flight->events;
  const bool is_verdict = judgement && !events.empty() && judgement->event == &events.front();
  const std::string summary = flight_summary(job);
  const std::string missing = missing_dumps(job);
  if (!is_verdict && judgement && !summary.empty()) verdict.why.push_back(summary);
  if (!judgement && !summary.empty()) verdict.root_cause += "; " + summary;
  if (!is_verdict && !missing.empty()) verdict.missing_evidence.push_back(missing);
  verdict.missing_evidence.insert(verdict.missing_evidence.end(), job.flight->notes.begin(),
                                  job.flight->notes.end());
}

void conclude_nothing(Diagnosis& diagnosis) {
  Verdict& verdict = diagnosis.verdict;
  verdict.root_cause = "nothing in these logs says that the job failed";
  verdict.next_action =
      "If the job did fail, add the logs of all ranks, the launcher's and the hosts' kernel "
      "logs.";
  if (diagnosis.unread.empty()) return;
  verdict.confidence = model::Confidence::low;
  verdict.root_cause = "nothing in what could be read of these logs says that the job failed";
  verdict.next_action =
      "Get whole and readable copies of what is not known below and run collwatch diagnose again.";
}

}  // namespace

std::string fill(const std::string& text, const std::map<std::string, std::string>& values,
                 Filling filling) {
  struct Word {
    const char* name;
    const char* unknown;
  };
  static constexpr std::array<Word, 8> kWords = {{{"rank", "RANK"},
                                                  {"host", "HOST"},
                                                  {"interface", "INTERFACE"},
                                                  {"op", "the collective"},
                                                  {"peer", "PEER"},
                                                  {"group", "GROUP"},
                                                  {"file", "the log"},
                                                  {"pid", "PID"}}};
  std::string out;
  for (std::size_t at = 0; at < text.size();) {
    const auto* const word = std::find_if(kWords.begin(), kWords.end(), [&](const Word& one) {
      return text.compare(at, std::string_view(one.name).size() + 2,
                          "{" + std::string(one.name) + "}") == 0;
    });
    if (word == kWords.end()) {
      out += text[at++];
      continue;
    }
    const auto it = values.find(word->name);
    const bool is_known = it != values.end() && !it->second.empty();
    if (!is_known) {
      out += word->unknown;
    } else if (filling == Filling::sentence) {
      out += logs::shown(it->second);
    } else {
      out += word_of_shell(it->second, std::string_view(word->name) == "file", word->unknown);
    }
    at += std::string_view(word->name).size() + 2;
  }
  return out;
}

Diagnosis conclude(const Job& job, const catalogue::Catalogue& catalogue) {
  Diagnosis diagnosis;
  for (const FileFacts& file : job.files) {
    ++diagnosis.scanned.files;
    diagnosis.scanned.bytes += file.bytes;
  }
  diagnosis.mentioned = mentioned_in(job);
  diagnosis.course = course_of(job);
  std::optional<Judgement> judgement = judge(job);
  if (judgement) ask_for_culprits_log(job, *judgement);
  diagnosis.findings = findings_of(job, judgement);
  diagnosis.ranks = ends_of(job, judgement.has_value());
  Verdict& verdict = diagnosis.verdict;
  verdict.missing_evidence = unread_parts(job);
  diagnosis.unread = verdict.missing_evidence;
  if (!judgement) {
    conclude_nothing(diagnosis);
    add_flight(job, judgement, verdict);
    return diagnosis;
  }
  verdict.fingerprint = judgement->fingerprint;
  verdict.confidence = judgement->confidence;
  verdict.initiating = initiating_of(job, *judgement);
  verdict.root_cause = judgement->cause;
  verdict.why = judgement->why;
  verdict.missing_evidence.insert(verdict.missing_evidence.begin(), judgement->missing.begin(),
                                  judgement->missing.end());
  add_flight(job, judgement, verdict);
  verdict.next_action = next_action(*judgement, verdict);
  for (const auto& [rank, story] : job.ranks) {
    const bool initiating = judgement->rank && *judgement->rank == rank;
    const bool echoes = story.first != nullptr && story.first->role != Role::initiating;
    if (!initiating && (echoes || story.waits_in_dump)) verdict.collateral_ranks.push_back(rank);
  }
  if (const catalogue::Entry* entry = catalogue.find(verdict.fingerprint)) {
    diagnosis.filled = values_of(*judgement, verdict.initiating);
    diagnosis.fix_template = entry->fix;
    diagnosis.verify_template = entry->verify;
    verdict.fix = fill(entry->fix, diagnosis.filled);
    verdict.verify = fill(entry->verify, diagnosis.filled, Filling::command);
    diagnosis.related = entry->related;
  }
  return diagnosis;
}

}  // namespace collwatch::diagnose
