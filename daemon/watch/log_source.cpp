// SPDX-License-Identifier: Apache-2.0
//
// A look: scan where that is due, then read what is new.
#include "daemon/watch/log_source.h"

#include <algorithm>
#include <utility>

#include "daemon/watch/finding.h"

namespace collwatch::watch {
namespace {

constexpr base::Millis kIdle{1000};   ///< also finds what inotify did not tell
constexpr base::Millis kLagging{50};  ///< until the budget has grown

}  // namespace

LogSource::LogSource(const diagnose::Patterns& patterns,
                     follow::Follower::Surroundings surroundings, Sink sink)
    : patterns_(patterns),
      sink_(std::move(sink)),
      follower_(std::move(surroundings),
                {[this](const follow::FollowedText& lines) { on_text(lines); },
                 [this](follow::FileIdentity file) { readers_.erase(file); },
                 [this](const wire::FilePosition& position) { sink_(position); },
                 [this](follow::FileIdentity file) {
                   readers_.erase(file);
                   sink_(wire::FileForgotten{file.first, file.second});
                 }}) {}

void LogSource::set_plan(const wire::WatchPlan& plan) {
  follower_.set_globs(plan.logs, {plan.shared_files, plan.bytes_per_second, plan.settled_ns});
}

base::Clock::duration LogSource::look(base::TimePoint now) {
  now_ = now;
  if (changes_.take().moved) follower_.scan_soon();
  follower_.scan(now);
  changes_.watch(follower_.folders());
  const bool is_more = follower_.poll(now);
  if (is_more) return base::Millis(0);
  return follower_.is_behind() ? kLagging : kIdle;
}

std::vector<int> LogSource::descriptors() const {
  if (changes_.fd() < 0) return {};
  return {changes_.fd()};
}

void LogSource::on_text(const follow::FollowedText& lines) {
  std::unique_ptr<LogReader>& reader = readers_[lines.file];
  if (!reader) reader = std::make_unique<LogReader>(patterns_, lines.path);
  for (const wire::Finding& finding : reader->read(lines)) {
    if (!repeats_.is_repeat(key_of(finding), now_)) sink_(finding);
  }
}

void LogSource::add_to(wire::Heartbeat& heartbeat) const {
  heartbeat.bytes += follower_.stats().bytes;
  heartbeat.skipped += follower_.stats().skipped;
  heartbeat.lag += follower_.stats().lag;
  heartbeat.files += follower_.files();
  heartbeat.waiting += follower_.stats().waiting;
  heartbeat.settled_ns = std::max(heartbeat.settled_ns, follower_.settled_ns());
  heartbeat.repeats += repeats_.count();
  for (std::string& text : follower_.troubles()) {
    heartbeat.troubles.push_back({model::Source::log, std::move(text)});
  }
}

}  // namespace collwatch::watch
