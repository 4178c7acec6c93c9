// SPDX-License-Identifier: Apache-2.0
//
// Exit codes of `collwatch diagnose` to those of HTTP.
#include "daemon/posted_logs/runner.h"

#include <sys/eventfd.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <utility>
#include <variant>

#include "daemon/supervise/environment.h"
#include "daemon/supervise/one_shot.h"
#include "daemon/supervise/sanitizer.h"
#include "exporters/json/documents.h"
#include "exporters/signals_blocked.h"

namespace collwatch::posted_logs {
namespace {

using exporters::error_reply;
using exporters::Reply;

std::string first_line(const std::string& text) {
  return text.substr(0, std::min<std::size_t>(text.find('\n'), 300));
}

/// Whether the words are about the agent's own catalogue and not about the log that was sent.
bool is_about(const std::string& output, const std::string& file) {
  const std::string start = "collwatch: " + file + ":";
  return !file.empty() && output.compare(0, start.size(), start) == 0;
}

Reply reply_of(supervise::OneShotResult result, std::chrono::milliseconds deadline,
               const std::string& fingerprints) {
  if (result.is_stopped) return error_reply(503, "the agent is stopping");
  if (result.is_late) {
    return error_reply(504, "reading this log takes longer than " +
                                std::to_string(deadline.count() / 1000) +
                                " s: run collwatch diagnose on it");
  }
  const auto* const exited = std::get_if<supervise::Exited>(&result.exit);
  if (result.is_too_much || exited == nullptr) {
    return error_reply(500, "collwatch diagnose " + supervise::describe(result.exit));
  }
  // 0: nothing found, 1: a diagnosis, 2: a log that cannot be read; what was read of a damaged one
  // is a diagnosis that says so.
  const bool has_diagnosis = !result.output.empty() && result.output.front() == '{';
  if (exited->code == 2 && is_about(result.output, fingerprints))
    return error_reply(500, "watch.fingerprints of the agent: " + first_line(result.output));
  if (exited->code == 2 && !has_diagnosis) return error_reply(400, first_line(result.output));
  if (exited->code > 2 || !has_diagnosis) {
    return error_reply(500, "collwatch diagnose " + supervise::describe(result.exit) + ": " +
                                first_line(result.output));
  }
  return {200, exporters::kJsonContentType,
          std::make_shared<const std::string>(std::move(result.output))};
}

}  // namespace

struct Runner::Job {
  std::thread thread;
  std::atomic<bool> done{false};
};

Runner::Runner(Options options)
    : options_(std::move(options)), stop_(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)) {}

Runner::~Runner() {
  stop();
}

Reply Runner::diagnose(int log) const {
  supervise::OneShotOptions run;
  run.executable = options_.executable;
  run.arguments = {"diagnose", "--format", "json", "-"};
  std::string fingerprints;
  {
    const std::lock_guard lock(fingerprints_mutex_);
    fingerprints = fingerprints_;
  }
  if (!fingerprints.empty())
    run.arguments.insert(run.arguments.begin() + 1, {"--fingerprints", fingerprints});
  run.environment = supervise::worker_environment({});
  run.input_fd = log;
  run.stop_fd = stop_.get();
  run.deadline = options_.deadline;
  run.most_output = std::size_t{4} << 20;
  run.most_memory = supervise::kUnderSanitizer ? 0 : options_.most_memory;
  auto result = supervise::run_once(run);
  if (!result) return error_reply(500, result.error().text);
  return reply_of(std::move(*result), options_.deadline, fingerprints);
}

void Runner::use_fingerprints(const std::string& file) {
  const std::lock_guard lock(fingerprints_mutex_);
  fingerprints_ = file;
}

void Runner::run(int log, Answer answer) {
  supervise::UniqueFd owned(log);
  join_finished();
  if (stopped_) return answer(error_reply(503, "the agent is stopping"));
  auto job = std::make_unique<Job>();
  Job& mine = *job;
  jobs_.push_back(std::move(job));
  const exporters::SignalsBlocked blocked;
  mine.thread = std::thread([this, &mine, log = std::move(owned), answer = std::move(answer)] {
    Reply reply;
    try {
      reply = diagnose(log.get());
    } catch (...) {  // out of memory
      reply = error_reply(503, "no room for a diagnosis: come again in a few seconds");
    }
    answer(std::move(reply));
    mine.done = true;
  });
}

void Runner::join_finished() {
  for (auto it = jobs_.begin(); it != jobs_.end();) {
    Job& job = **it;
    if (!job.done && job.thread.joinable()) {
      ++it;
      continue;
    }
    if (job.thread.joinable()) job.thread.join();
    it = jobs_.erase(it);
  }
}

void Runner::stop() {
  stopped_ = true;
  const std::uint64_t one = 1;
  (void)!write(stop_.get(), &one, sizeof one);
  for (const auto& job : jobs_) {
    if (job->thread.joinable()) job->thread.join();
  }
  jobs_.clear();
}

}  // namespace collwatch::posted_logs
