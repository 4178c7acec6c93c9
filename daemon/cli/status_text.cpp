// SPDX-License-Identifier: Apache-2.0
//
// Sentences by kind and reason; columns as wide as their widest cell.
#include "daemon/cli/status_text.h"

#include <algorithm>
#include <array>
#include <cstdio>
#include <map>

#include "daemon/cli/table.h"

namespace collwatch::cli {
namespace {

template <typename... Arguments>
std::string formatted(const char* format, Arguments... arguments) {
  std::array<char, 128> out{};
  std::snprintf(out.data(), out.size(), format, arguments...);
  return out.data();
}

std::string joined(const std::vector<std::string>& words) {
  std::string text;
  for (const std::string& word : words) text += (text.empty() ? "" : ", ") + word;
  return text;
}

/// What a reason means for a node; other kinds say it by the kind.
std::string trouble(const std::string& reason) {
  static const std::map<std::string, std::string> kWords = {
      {"slow", "is slow"},
      {"lossy", "loses packets"},
      {"size_blackhole", "loses large packets"},
      {"data_corruption", "corrupts data"},
      {"worker_crash", "lost its probe worker"},
      {"worker_stuck", "has a stuck probe worker"},
      {"never_joined", "has never joined"},
      {"isolated", "is cut off"},
      {"refused", "refuses connections"}};
  const auto found = kWords.find(reason);
  return found == kWords.end() ? "is down" : found->second;
}

std::string subject(const StatusReply::Verdict& v) {
  if (v.kind == "node" || v.kind == "misconfig") return "node " + v.entity;
  if (v.kind == "self") return "this node, " + v.entity + ",";
  if (v.kind == "directed_link") return "link " + v.entity;
  return v.kind + " " + v.entity;
}

std::string predicate(const StatusReply::Verdict& v) {
  const bool degraded = v.reason == "slow" || v.reason == "lossy" || v.reason == "size_blackhole" ||
                        v.reason == "data_corruption";
  if (degraded || v.kind == "node" || v.kind == "self") return trouble(v.reason);
  if (v.kind == "misconfig") return "is misconfigured";
  if (v.kind == "partition") return "is cut off from the others";
  return "is broken";
}

Tone tone_of(const std::string& word) {
  if (word == "ok" || word == "heard") return Tone::good;
  if (word == "suspect" || word == "ticket" || word == "stale_view" || word == "left") {
    return Tone::doubtful;
  }
  return word == "-" || word.empty() ? Tone::plain : Tone::bad;
}

Cell word(const std::string& text) {
  return {text, tone_of(text), false};
}

std::string seconds_text(double seconds) {
  return seconds < 1 ? formatted("%.2f ms", seconds * 1e3) : formatted("%.2f s", seconds);
}

std::string witness_text(const StatusReply::Edge& edge) {
  if (!edge.available) return "unavailable";
  const std::string heard = edge.heard ? "heard" : "silent";
  return edge.loss < 0.005 ? heard : heard + formatted(", %.0f %% lost", edge.loss * 100);
}

std::string size_text(std::uint64_t bytes) {
  if (bytes == 0) return "-";  // a barrier carries nothing
  if (bytes >= 1U << 20 && bytes % (1U << 20) == 0) return std::to_string(bytes >> 20) + " MiB";
  if (bytes >= 1U << 10 && bytes % (1U << 10) == 0) return std::to_string(bytes >> 10) + " KiB";
  return std::to_string(bytes) + " B";
}

std::string peers_table(const StatusReply& status, Colour colour) {
  std::map<std::string, const StatusReply::Edge*> edges;
  for (const auto& edge : status.edges) edges[edge.peer] = &edge;
  Table table({{"member"}, {"state"}, {"edge"}, {"round trip", Tone::plain, true}, {"witness"}});
  for (const auto& member : status.members) {
    const auto found = edges.find(member.name);
    if (found == edges.end()) {
      table.add({{member.name},
                 word(member.state),
                 {member.name == status.node ? "(this node)" : "-"},
                 {"-", Tone::plain, true},
                 {"-"}});
      continue;
    }
    const StatusReply::Edge& edge = *found->second;
    const std::string trip = edge.round_trip_seconds ? seconds_text(*edge.round_trip_seconds) : "-";
    table.add({{member.name},
               word(member.state),
               word(edge.outcome.value_or("-")),
               {trip, Tone::plain, true},
               {witness_text(edge), edge.available && !edge.heard ? Tone::bad : Tone::plain}});
  }
  return table.text(colour);
}

std::string collectives_table(const StatusReply& status, Colour colour) {
  Table table(
      {{"collective"}, {"size", Tone::plain, true}, {"outcome"}, {"took", Tone::plain, true}});
  for (const auto& c : status.collectives) {
    table.add({{c.backend + " " + c.collective},
               {size_text(c.size_bytes), Tone::plain, true},
               word(c.outcome),
               {seconds_text(c.seconds), Tone::plain, true}});
  }
  return table.text(colour);
}

std::string fingerprints_table(const StatusReply& status, WallTime now, Colour colour) {
  Table table({{"fingerprint"}, {"from"}, {"since"}});
  for (const auto& f : status.fingerprints) {
    table.add({{f.id, Tone::bad}, {f.source}, {f.since ? clock_text(*f.since, now) : "-"}});
  }
  return table.text(colour);
}

/// What is not read beside the probes. Of the kernel's log that is usual: a right is missing.
std::string watch_text(const StatusReply& status, Colour colour) {
  std::string text;
  for (const auto& watched : status.watched) {
    if (watched.source == "kernel" || watched.text.empty()) continue;
    if (watched.source == "ras" && watched.works) {
      text += "NCCL's RAS: " + watched.text + "\n";
      continue;
    }
    const std::string what = watched.source == "log"   ? "training logs"
                             : watched.source == "ras" ? "jobs through NCCL's RAS"
                                                       : "training processes";
    text += painted(what + (watched.works ? " are read in part: " : " are not watched: ") +
                        watched.text,
                    watched.works ? Tone::doubtful : Tone::bad, colour) +
            "\n";
  }
  return text.empty() ? "" : "\n" + text;
}

std::string verdict_sentence(const StatusReply::Verdict& v, WallTime now) {
  std::string text = accusation(v);
  if (!v.ambiguous_with.empty()) text += ", or it is " + joined(v.ambiguous_with);
  if (!v.observers.empty()) text += ", seen by " + joined(v.observers);
  if (v.since) text += " since " + clock_text(*v.since, now);
  if (!v.fingerprint.empty() && v.fingerprint != "none") text += ": " + v.fingerprint;
  return text + " [" + v.state + "]";
}

}  // namespace

std::string accusation(const StatusReply::Verdict& v) {
  return subject(v) + " " + predicate(v) + " (" + v.reason + ")";
}

std::string age_text(double seconds) {
  if (seconds < 120) return formatted("%.1f s", seconds);
  if (seconds < 7200) return formatted("%.0f min", seconds / 60);
  return formatted("%.0f h", seconds / 3600);
}

std::string own_trouble(const StatusReply& status) {
  std::string text;
  for (const auto& worker : status.workers) {
    if (worker.state == "running") continue;
    text += (text.empty() ? "" : ", ") + std::string("this node's ") + worker.backend +
            " worker is " + worker.state;
    if (!worker.text.empty()) text += ": " + worker.text;
  }
  return text;
}

std::string members_in(const StatusReply& status, const std::vector<std::string>& states) {
  std::string text;
  for (const auto& member : status.members) {
    const bool wanted = states.empty()
                            ? member.state != "ok"
                            : std::find(states.begin(), states.end(), member.state) != states.end();
    if (wanted) text += (text.empty() ? "" : ", ") + member.name + " " + member.state;
  }
  return text;
}

std::string sentence(const StatusReply& status, WallTime now) {
  const std::string own = own_trouble(status);
  if (!status.verdicts.empty() || !own.empty()) {
    std::string text = own;
    for (const auto& verdict : status.verdicts) {
      text += (text.empty() ? "" : "\n") + verdict_sentence(verdict, now);
    }
    return text;
  }
  return summary(status);
}

std::string summary(const StatusReply& status) {
  const std::string round = ", round " + std::to_string(status.round_number) + ", " +
                            age_text(status.round_age_seconds) + " ago.";
  const auto healthy = static_cast<std::size_t>(
      std::count_if(status.members.begin(), status.members.end(),
                    [](const auto& member) { return member.state == "ok"; }));
  const std::size_t all = status.members.size();
  const bool observed = std::any_of(status.edges.begin(), status.edges.end(),
                                    [](const auto& edge) { return edge.outcome.has_value(); });
  if (all > 1 && !observed) {
    return "No exchange yet with any of the " + std::to_string(all - 1) + " peers" + round;
  }
  if (healthy == all) return "All " + std::to_string(all) + " members healthy" + round;
  return std::to_string(healthy) + " of " + std::to_string(all) + " members healthy (" +
         members_in(status) + ")" + round;
}

std::string status_text(const StatusReply& status, WallTime now, Colour colour) {
  const bool paged = !status.verdicts.empty() && status.verdicts.front().state == "page";
  const Tone tone = paged || !own_trouble(status).empty() ? Tone::bad
                    : status.verdicts.empty()             ? Tone::plain
                                                          : Tone::doubtful;
  std::string text = painted(sentence(status, now), tone, colour) + "\n";
  text += peers_table(status, colour);
  text += collectives_table(status, colour);
  text += fingerprints_table(status, now, colour);
  text += watch_text(status, colour);
  text += "\n" + status.node + ", collwatch " + status.version + ", round " +
          std::to_string(status.round_number) + " " + age_text(status.round_age_seconds) + " ago";
  if (status.local_health > 0) {
    text += ", local health " + std::to_string(status.local_health) +
            " of 8 (0 is well): this node doubts its own measurements";
  }
  return text + "\n";
}

}  // namespace collwatch::cli
