// SPDX-License-Identifier: Apache-2.0
//
// `inspect --dump`: ranks that run are asked for a dump of their Flight Recorder, and what they
// write is diagnosed. Says that it writes to the job before it does. Exit codes of `diagnose`; 2
// also where nobody can be asked or no dump came.
#include <algorithm>
#include <chrono>
#include <cstddef>
#include <iostream>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "daemon/cli/catalogue_files.h"
#include "daemon/cli/commands.h"
#include "daemon/cli/inspect_print.h"
#include "daemon/cli/terminal.h"
#include "daemon/diagnose/diagnose.h"
#include "daemon/diagnose/print.h"
#include "daemon/logs/shown.h"
#include "daemon/processes/dump_request.h"
#include "daemon/processes/proc_files.h"

namespace collwatch::cli {
namespace {

using processes::DumpAnswer;
using processes::Process;

constexpr int kDiagnosed = 1;
constexpr std::chrono::seconds kPatience{30};
constexpr std::chrono::milliseconds kBetweenLooks{250};
constexpr const char* kHowToGetPipes =
    "start the job with TORCH_NCCL_DEBUG_INFO_PIPE_FILE=/tmp/collwatch_pipe_ (any beginning of a "
    "file's name that its ranks may write to) and TORCH_FR_BUFFER_SIZE=2000 (older: "
    "TORCH_NCCL_TRACE_BUFFER_SIZE), with TORCH_NCCL_DUMP_ON_TIMEOUT on, as it is by default; "
    "ProcessGroupNCCL then reads the pipes, Gloo alone does not";

/// Opened through the root of the process, which its links do not leave.
class DumpBytes final : public logs::Bytes {
 public:
  explicit DumpBytes(const processes::Place& place)
      : file_(processes::FileInRoot::open(place.root, place.path)) {}

  model::Result<std::size_t> read(char* into, std::size_t room) override {
    if (!file_) return model::fail(model::ErrorCode::io, "it is gone");
    const std::string part = file_->read(room);
    std::copy(part.begin(), part.end(), into);
    return part.size();
  }

 private:
  std::optional<processes::FileInRoot> file_;
};

int refused(const std::string& why) {
  complain(why);
  return kUsageError;
}

std::string who(const std::optional<int>& rank, int pid) {
  return (rank ? "rank " + std::to_string(*rank) + ", " : "") + "pid " + std::to_string(pid);
}

std::set<std::string> jobs_of(const std::vector<Process>& all) {
  std::set<std::string> jobs;
  for (const Process& process : all) jobs.insert(process.identity.job);
  return jobs;
}

/// Before anything is written; false: there is nobody to write to.
bool announce(const std::vector<Process>& all) {
  std::string pipes;
  bool is_configured = false;
  for (const Process& process : all) {
    is_configured = is_configured || process.flight.pipe_place;
    if (!process.flight.pipe_place || !process.flight.pipe_problem.empty()) continue;
    pipes += "\n  " + who(process.identity.rank, process.pid) + ": " +
             logs::shown(process.flight.pipe_place->shown);
  }
  if (pipes.empty()) {
    for (const Process& process : all) {
      if (!process.flight.pipe_place) continue;
      complain(who(process.identity.rank, process.pid) + ": not asked: " +
               process.flight.pipe_place->shown + ": " + process.flight.pipe_problem);
    }
    complain(std::string(all.empty()     ? "there is no rank to ask"
                         : is_configured ? "no rank can be asked for a dump"
                                         : "no rank has a pipe to be asked through") +
             ": " + kHowToGetPipes);
    return false;
  }
  complain(
      "this writes to the job: one byte into the pipe of each of these ranks, on which its "
      "Flight Recorder writes a dump with stacks while training goes on:" +
      pipes);
  return true;
}

int diagnose_dumps(const diagnose::Engine& engine, const std::vector<DumpAnswer>& answers,
                   bool json) {
  std::vector<diagnose::Input> inputs;
  for (const DumpAnswer& answer : answers) {
    if (!answer.dump) continue;
    diagnose::Input input;
    input.source.name = answer.dump->shown;
    input.source.hint.rank = answer.rank;
    input.source.is_no_log = true;  // whatever else lies there is not shown to anybody
    input.bytes = std::make_unique<DumpBytes>(*answer.dump);
    inputs.push_back(std::move(input));
  }
  if (inputs.empty()) return kUsageError;
  const auto diagnosis = engine.run_inputs(std::move(inputs));
  if (!diagnosis && diagnosis.error().code == model::ErrorCode::not_found) {
    return refused("what the ranks wrote is no dump of the Flight Recorder");
  }
  if (!diagnosis) return refused(diagnosis.error().text);
  if (json) {
    std::cout << diagnose::to_json(*diagnosis) << "\n";
  } else {
    std::cout << "\n"
              << diagnose::to_text(*diagnosis, engine.catalogue(),
                                   colour_of_stdout() == Colour::yes);
  }
  std::cout.flush();
  for (const std::string& unread : diagnosis->unread) complain("not read: " + unread);
  if (diagnosis->verdict.fingerprint != model::Fingerprint::none) return kDiagnosed;
  return diagnosis->unread.empty() ? 0 : kUsageError;
}

/// Which dumps there are and which not.
void tell(const std::vector<DumpAnswer>& answers, bool json) {
  for (const DumpAnswer& answer : answers) {
    const std::string name = who(answer.rank, answer.pid);
    if (answer.dump) {
      // Standard output is the document's.
      (json ? std::cerr : std::cout) << name << ": " << logs::shown(answer.dump->shown) << " ("
                                     << size_text(answer.bytes) << ")\n";
    } else {
      complain(name + ": no dump: " + answer.problem);
    }
  }
  std::cout.flush();
}

}  // namespace

int run_dump(const processes::ProcessReport& report, bool json) {
  const std::set<std::string> jobs = jobs_of(report.processes);
  if (json && jobs.size() > 1) {
    return refused("ranks of " + std::to_string(jobs.size()) +
                   " jobs run here and JSON is one document: name a process by --pid");
  }
  auto catalogue = catalogue_with({});
  if (!catalogue) return refused(catalogue.error().text);
  const auto engine = diagnose::Engine::build(std::move(*catalogue));
  if (!engine) return refused(engine.error().text);
  if (!announce(report.processes)) return kUsageError;
  processes::DumpRequest request(report.processes);
  request.ask();
  const auto deadline = std::chrono::steady_clock::now() + kPatience;
  while (!request.look(std::chrono::steady_clock::now()) &&
         std::chrono::steady_clock::now() < deadline) {
    std::this_thread::sleep_for(kBetweenLooks);
  }
  int worst = 0;
  bool is_diagnosed = false;
  for (const std::string& job : jobs) {
    std::vector<DumpAnswer> answers = request.answers();
    std::erase_if(answers, [&](const DumpAnswer& answer) { return answer.job != job; });
    if (jobs.size() > 1) std::cout << "\n" << logs::shown(job) << ":\n";
    tell(answers, json);
    const int code = diagnose_dumps(*engine, answers, json);
    is_diagnosed = is_diagnosed || code == kDiagnosed;
    worst = std::max(worst, code);
  }
  return is_diagnosed ? kDiagnosed : worst;
}

}  // namespace collwatch::cli
