// SPDX-License-Identifier: Apache-2.0
//
// A sentence per job, a row per rank, a paragraph per finding.
#include <algorithm>
#include <array>
#include <cstdio>
#include <set>

#include "daemon/cli/inspect_print.h"
#include "daemon/logs/shown.h"

namespace collwatch::cli {
namespace {

using processes::Backend;
using processes::Connections;
using processes::Finding;
using processes::Job;
using processes::Process;
using processes::ProcessReport;
using processes::Progress;

std::string or_dash(const std::string& text) {
  return text.empty() ? "-" : text;
}

std::string number(const std::optional<int>& value) {
  return value ? std::to_string(*value) : "?";
}

std::string joined(const std::vector<std::string>& words, const char* between = ", ") {
  std::string text;
  for (const std::string& word : words) text += (text.empty() ? "" : between) + word;
  return text;
}

/// "0-3, 6"
std::string ranks_text(const std::vector<int>& ranks) {
  std::vector<std::string> parts;
  for (std::size_t i = 0; i < ranks.size();) {
    std::size_t last = i;
    while (last + 1 < ranks.size() && ranks[last + 1] == ranks[last] + 1) ++last;
    parts.push_back(std::to_string(ranks[i]) +
                    (last > i ? "-" + std::to_string(ranks[last]) : std::string()));
    i = last + 1;
  }
  return joined(parts);
}

std::string processes_text(int count) {
  return std::to_string(count) + (count == 1 ? " process" : " processes");
}

std::string job_sentence(const Job& job) {
  std::string text = job.job + ": ";
  text += job.ranks.empty() ? processes_text(job.processes) + " of unknown rank"
                            : (job.ranks.size() == 1 ? "rank " : "ranks ") + ranks_text(job.ranks);
  if (job.world_size > 0) text += " of " + std::to_string(job.world_size);
  text += " here, backend " + std::string(model::name(job.backend));
  if (!job.torch.empty()) text += ", PyTorch " + job.torch;
  if (!job.nccl.empty()) text += ", NCCL " + job.nccl;
  if (!job.missing.empty()) {
    text += "; without a process: rank " + ranks_text(job.missing);
  }
  if (job.stalled) text += "; nothing moves";
  return text + ".\n";
}

std::string short_device(const std::string& path) {
  return path.substr(path.rfind('/') + 1);
}

std::string gpus_text(const Process& process) {
  std::vector<std::string> names;
  for (const std::string& gpu : process.gpus) names.push_back(short_device(gpu));
  return or_dash(joined(names, ","));
}

/// Of the connections to other ranks.
std::string interfaces_text(const Process& process) {
  std::set<std::string> names;
  for (const Connections& peer : process.connections) {
    if (peer.kind == Connections::Kind::ranks && !peer.interface.empty()) {
      names.insert(peer.interface);
    }
  }
  return or_dash(joined({names.begin(), names.end()}, ","));
}

std::string fixed(double value, const char* format) {
  std::array<char, 32> text{};
  std::snprintf(text.data(), text.size(), format, value);
  return text.data();
}

std::string rate_text(const Process& process, const std::optional<double>& window) {
  if (!process.moved || !window || *window <= 0) return "-";
  return fixed(static_cast<double>(*process.moved) / *window / 1e6, "%.1f");
}

Cell progress_cell(const Process& process) {
  switch (process.progress) {
    case Progress::moving:
      return {"moving", Tone::good};
    case Progress::stalled: {
      const bool told = process.state == 'T' || process.state == 't' || process.state == 'D';
      return {"stalled" + (told ? " (" + std::string(1, process.state) + ")" : std::string()),
              Tone::bad};
    }
    case Progress::unknown:
      break;
  }
  return {"-"};
}

std::string rank_table(const ProcessReport& report, const Job& job, Colour colour) {
  const auto right = [](const std::string& text) { return Cell{text, Tone::plain, true}; };
  Table table({right("rank"),
               right("local"),
               right("pid"),
               {"program"},
               {"backend"},
               {"torch"},
               {"nccl"},
               {"interface"},
               {"gpus"},
               right("cpu"),
               right("MB/s"),
               {"progress"}});
  for (const Process& process : report.processes) {
    if (process.identity.job != job.job) continue;
    table.add(
        {right(number(process.identity.rank)),
         right(process.identity.local_rank ? number(process.identity.local_rank) : "-"),
         right(std::to_string(process.pid)),
         {process.program},
         {std::string(process.backend == Backend::unknown ? "-" : model::name(process.backend))},
         {or_dash(process.torch)},
         {or_dash(process.nccl)},
         {interfaces_text(process)},
         {gpus_text(process)},
         right(process.cpu_ratio ? fixed(*process.cpu_ratio * 100, "%.0f %%") : "-"),
         right(rate_text(process, report.window_seconds)),
         progress_cell(process)});
  }
  return table.text(colour);
}

/// Which dumps lie there, and who can be asked for one.
std::string flight_text(const ProcessReport& report, const Job& job) {
  constexpr std::size_t kMostTold = 8;
  std::vector<std::string> dumps;
  std::vector<int> askable;
  for (const Process& process : report.processes) {
    if (process.identity.job != job.job) continue;
    const processes::FlightFiles& flight = process.flight;
    for (const processes::DumpFile& file : flight.dumps) {
      std::string text = "rank " + number(process.identity.rank) + ": " + file.path + " (" +
                         size_text(file.bytes) + ", " + fixed(file.age_seconds, "%.0f s old");
      if (file.before_process) text += ", older than the process";
      if (!file.of_user) text += ", of another user";
      dumps.push_back(text + ")");
    }
    if (flight.pipe_place && flight.pipe_problem.empty() && process.identity.rank) {
      askable.push_back(*process.identity.rank);
    }
  }
  std::string text;
  for (std::size_t i = 0; i < std::min(dumps.size(), kMostTold); ++i) {
    text += "  dump of " + dumps[i] + "\n";
  }
  if (dumps.size() > kMostTold) {
    text += "  and " + std::to_string(dumps.size() - kMostTold) + " dumps more (--json has all)\n";
  }
  if (!askable.empty()) {
    text += "  --dump can ask for a dump: rank " + ranks_text(askable) + "\n";
  }
  return text;
}

std::string finding_text(const Finding& finding, Colour colour) {
  const bool warning = finding.confidence == model::Confidence::low;
  const std::string head =
      std::string(model::name(finding.id)) + (warning ? " (a warning): " : ": ");
  std::string text =
      "\n" + painted(head, warning ? Tone::doubtful : Tone::bad, colour) + finding.text;
  if (finding.pid != 0) text += " (pid " + std::to_string(finding.pid) + ")";
  text += "\n";
  for (const std::string& evidence : finding.evidence) text += "  - " + evidence + "\n";
  return text + "  fix: " + finding.fix + "\n";
}

/// What the reader of the text should know about its limits.
std::string notes_text(const ProcessReport& report) {
  std::vector<std::string> notes = {"looked at " + processes_text(report.looked_at)};
  if (report.unreadable > 0) {
    notes.push_back(std::to_string(report.unreadable) +
                    " of them could not be read: other users' or protected (root sees more)");
  }
  if (report.blocked > 0) {
    notes.push_back(std::to_string(report.blocked) + " left out: in state D");
  }
  if (report.cut_short) notes.emplace_back("cut short, there are too many");
  if (report.window_seconds) {
    notes.push_back("progress is that of " + fixed(*report.window_seconds, "%.1f s"));
  }
  return "\n" + joined(notes, "; ") + "\n";
}

/// Names of programs, interfaces and jobs are whatever somebody gave them.
void make_fit(ProcessReport& report) {
  const auto fit = [](std::string& text) { text = logs::shown(text); };
  for (Job& job : report.jobs) {
    for (std::string* text : {&job.job, &job.torch, &job.nccl}) fit(*text);
  }
  for (Process& process : report.processes) {
    for (std::string* text :
         {&process.identity.job, &process.program, &process.torch, &process.nccl}) {
      fit(*text);
    }
    for (std::string& gpu : process.gpus) fit(gpu);
    for (processes::DumpFile& file : process.flight.dumps) fit(file.path);
    for (Connections& peer : process.connections) fit(peer.interface);
  }
  for (Finding& finding : report.findings) {
    fit(finding.text);
    for (std::string& evidence : finding.evidence) fit(evidence);
    finding.fix = logs::shown(finding.fix, logs::Lines::keep);
  }
}

}  // namespace

std::string size_text(std::uint64_t bytes) {
  if (bytes < 10'000) return std::to_string(bytes) + (bytes == 1 ? " byte" : " bytes");
  const bool is_large = bytes >= std::uint64_t{10} << 20;
  return std::to_string(bytes >> (is_large ? 20 : 10)) + (is_large ? " MiB" : " KiB");
}

std::string inspect_text(const ProcessReport& raw, Colour colour) {
  ProcessReport report = raw;
  make_fit(report);
  std::string text;
  if (report.jobs.empty()) text = "No training process is to be seen.\n";
  for (const Job& job : report.jobs) {
    text += (text.empty() ? "" : "\n") + job_sentence(job) + rank_table(report, job, colour) +
            flight_text(report, job);
  }
  for (const Finding& finding : report.findings) text += finding_text(finding, colour);
  return text + notes_text(report);
}

}  // namespace collwatch::cli
