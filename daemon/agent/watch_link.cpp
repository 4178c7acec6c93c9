// SPDX-License-Identifier: Apache-2.0
//
// Start, heartbeat, loss and restart of the watcher.
#include "daemon/agent/watch_link.h"

#include <fcntl.h>

#include <algorithm>
#include <cerrno>
#include <cstdint>
#include <cstring>

#include "daemon/agent/memory.h"
#include "daemon/supervise/sanitizer.h"
#include "daemon/supervise/unique_fd.h"

namespace collwatch::agent {

using base::Clock;
using base::Millis;

namespace {

constexpr Millis kSendAgain{20};

std::int64_t wall_ms() {
  return std::chrono::duration_cast<Millis>(std::chrono::system_clock::now().time_since_epoch())
      .count();
}

}  // namespace

WatchLink::WatchLink(base::EventLoop& loop, Options options, Handlers handlers)
    : loop_(loop), options_(std::move(options)), handlers_(std::move(handlers)) {}

WatchLink::~WatchLink() {
  stop();
}

void WatchLink::watch(const config::Config::Watch& wanted) {
  std::vector<Glob> fresh;
  for (const config::Config::WatchedLog& log : wanted.logs) {
    const auto known = std::find_if(globs_.begin(), globs_.end(),
                                    [&](const Glob& glob) { return glob.log.glob == log.glob; });
    fresh.push_back({log, known == globs_.end() ? wall_ms() : known->since_ms});
  }
  globs_ = std::move(fresh);
  wants_kernel_ = wanted.kernel;
  processes_ = wanted.processes;
  ras_mode_ = wanted.ras_mode;
  ras_address_ = wanted.ras_address;
  bytes_per_second_ = wanted.max_bytes_per_second;
  const bool is_other_catalogue =
      fingerprints_ != wanted.fingerprints || fingerprints_hash_ != wanted.fingerprints_hash;
  fingerprints_ = wanted.fingerprints;
  fingerprints_hash_ = wanted.fingerprints_hash;
  kernel_trouble_.clear();
  // Opened and not asked for: a capability may be missing that no permission bit shows.
  const supervise::UniqueFd kernel_log(
      wants_kernel_ ? ::open(options_.kernel_log.c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC) : -1);
  if (wants_kernel_ && !kernel_log) {
    kernel_trouble_ = "cannot read " + options_.kernel_log + ": " + std::strerror(errno) +
                      " (docs/watch.md says which right is missing)";
  }
  if (!is_needed()) {
    stop();
    return;
  }
  if (!worker_) return start();
  if (is_other_catalogue) {
    is_outdated_ = true;
    say(wire::WatchStop{});
  } else if (is_running_) {
    say(plan());
  }
}

bool WatchLink::is_needed() const {
  return !globs_.empty() || processes_.count() > 0 || ras_mode_ != "never" ||
         (wants_kernel_ && kernel_trouble_.empty());
}

void WatchLink::start() {
  loop_.cancel(restart_timer_);
  spawn();
}

void WatchLink::spawn() {
  supervise::WorkerOptions options;
  options.executable = options_.executable;
  supervise::Worker::Handlers handlers;
  handlers.packet = [this](const std::string& packet) { on_packet(packet); };
  handlers.protocol_error = [this](const std::string& text) {
    lose(model::Reason::worker_crash, "the watcher said something that is no message: " + text);
    if (worker_) worker_->kill("protocol error");
  };
  handlers.ended = [this](const supervise::ExitFact& fact) { on_ended(fact); };
  handlers.unreaped = [this] { on_stuck(); };
  is_running_ = false;
  is_lost_ = false;
  is_outdated_ = false;
  why_lost_ = "it is being started";
  latest_ = {};
  started_at_ = Clock::now();
  auto spawned = supervise::Worker::spawn(loop_, options, std::move(handlers));
  if (!spawned) {
    unavailable_ = spawned.error().text;
    is_lost_ = true;
    why_lost_ = unavailable_;
    warn_once("nothing is watched, the watcher cannot be started: " + unavailable_);
    restart_timer_ = loop_.after(std::chrono::seconds(30), [this] { spawn(); });
    return;
  }
  unavailable_.clear();
  worker_ = std::move(*spawned);
  wire::WatchStart begin;
  begin.node = options_.node;
  begin.fingerprints = fingerprints_;
  queue_.clear();
  say(begin);
  expect_word(options_.first_word);
}

void WatchLink::say(wire::ToWatcher message) {
  queue_.push_back(std::move(message));
  send_queued();
}

void WatchLink::send_queued() {
  loop_.cancel(send_timer_);
  while (worker_ && !queue_.empty()) {
    if (!worker_->send_packet(wire::encode(queue_.front()))) {
      // Full: it reads when it can. One that never does is missed by its silence.
      send_timer_ = loop_.after(kSendAgain, [this] { send_queued(); });
      return;
    }
    queue_.pop_front();
  }
}

wire::WatchPlan WatchLink::plan() const {
  wire::WatchPlan plan;
  for (const Glob& glob : globs_) {
    plan.logs.push_back({glob.log.glob, glob.log.max_bytes_per_second, glob.since_ms});
  }
  plan.kernel = wants_kernel_ && kernel_trouble_.empty();
  plan.kernel_after = kernel_sequence_;
  plan.processes_ms = processes_.count();
  plan.shared_files = stuck_ == nullptr;
  plan.bytes_per_second = bytes_per_second_;
  plan.settled_ns = settled_ns_;
  plan.ras_mode = ras_mode_;
  plan.ras_host = ras_address_.host;
  plan.ras_port = ras_address_.port;
  plan.ras_left = ras_left_;
  return plan;
}

void WatchLink::expect_word(Millis within) {
  loop_.cancel(word_timer_);
  word_due_ = Clock::now() + within;
  word_timer_ = loop_.after(within, [this] {
    // If this timer itself ran late, the whole process was frozen and the watcher with it.
    if (Clock::now() - word_due_ > Millis(500)) return expect_word(options_.silence);
    lose(model::Reason::worker_stuck,
         is_running_ ? "the watcher fell silent" : "the watcher did not say hello in time");
    if (worker_) worker_->kill("no heartbeat");
  });
}

void WatchLink::on_packet(const std::string& packet) {
  const auto message = wire::decode_from_watcher(packet);
  if (!message) {
    lose(model::Reason::worker_crash,
         "the watcher said something that is no message: " + message.error().text);
    worker_->kill("protocol error");
    return;
  }
  if (is_lost_) return;
  if (const auto* hello = std::get_if<wire::WatchHello>(&*message)) {
    if (hello->v != wire::kWatchVersion) {
      lose(model::Reason::worker_crash, "the watcher speaks another version of the protocol");
      worker_->kill("wrong protocol version");
      return;
    }
    is_running_ = true;
    expect_word(options_.silence);
    for (const auto& [identity, position] : positions_) say(position);
    say(plan());
    if (handlers_.up) handlers_.up();
  } else if (const auto* finding = std::get_if<wire::Finding>(&*message)) {
    if (handlers_.found) handlers_.found(*finding);
  } else if (const auto* jobs = std::get_if<wire::WatchedJobs>(&*message)) {
    if (handlers_.jobs) handlers_.jobs(*jobs);
  } else if (const auto* position = std::get_if<wire::FilePosition>(&*message)) {
    const std::pair identity{position->device, position->inode};
    if (positions_.size() < wire::kMostKnownFiles || positions_.contains(identity)) {
      positions_[identity] = *position;
    }
  } else if (const auto* forgotten = std::get_if<wire::FileForgotten>(&*message)) {
    positions_.erase({forgotten->device, forgotten->inode});
  } else if (const auto* heartbeat = std::get_if<wire::Heartbeat>(&*message)) {
    on_heartbeat(*heartbeat);
  }
}

void WatchLink::on_heartbeat(const wire::Heartbeat& heartbeat) {
  expect_word(options_.silence);
  latest_ = heartbeat;
  kernel_sequence_ = std::max(kernel_sequence_, heartbeat.kernel_sequence);
  settled_ns_ = std::max(settled_ns_, heartbeat.settled_ns);
  ras_left_ = heartbeat.ras_left;
  for (const wire::WatchTrouble& trouble : heartbeat.troubles) warn_once(trouble.text);
}

/// A trouble lasts, and who writes logs can make as many of them as he likes.
void WatchLink::warn_once(const std::string& text) {
  constexpr std::size_t kMostWarnings = 64;
  if (!handlers_.trouble || warned_.size() >= kMostWarnings) return;
  // "3 processes ...": how many it is now is no news.
  const std::size_t begin = std::min(text.find_first_not_of("0123456789"), text.size());
  if (!warned_.insert(text.substr(begin)).second) return;
  handlers_.trouble(text);
  if (warned_.size() == kMostWarnings) {
    handlers_.trouble("what else cannot be read is told in /api/v1/status alone");
  }
}

void WatchLink::check_memory(std::uint64_t most) {
  if (!worker_ || !is_running_ || supervise::kUnderSanitizer) return;
  const std::uint64_t held = resident_bytes(worker_->pid());
  if (held <= most) return;
  lose(model::Reason::worker_crash, "the watcher held " + std::to_string(held >> 20) +
                                        " MiB, more memory than its share (limits.memory)");
  worker_->kill("more memory than its share");
}

void WatchLink::lose(model::Reason reason, const std::string& why) {
  loop_.cancel(word_timer_);
  if (std::exchange(is_lost_, true)) return;
  is_running_ = false;
  why_lost_ = why;
  keep_counts();
  if (handlers_.jobs) handlers_.jobs({});
  if (handlers_.down) handlers_.down(reason, why);
}

void WatchLink::on_ended(const supervise::ExitFact& fact) {
  // The current one, unless it is already a successor that runs: then it was the stuck one.
  if (stuck_ && stuck_->phase() == supervise::WorkerPhase::ended) {
    stuck_.reset();
    if (handlers_.unreaped) handlers_.unreaped(0);
    if (is_running_) say(plan());  // shared file systems again
    if (!worker_ && is_needed()) respawn();
    return;
  }
  if (is_outdated_) return replace_outdated();
  std::string why = "the watcher " + supervise::describe(fact);
  if (!worker_->output_tail().empty()) why += ": " + worker_->output_tail();
  while (why.ends_with('\n')) why.pop_back();
  worker_.reset();
  lose(model::Reason::worker_crash, why);
  respawn();
}

/// On a plan of ours, not a failure of its own: at once, and nobody is told.
void WatchLink::replace_outdated() {
  worker_.reset();
  is_running_ = false;
  keep_counts();
  start();
}

void WatchLink::keep_counts() {
  bytes_before_ += latest_.bytes;
  skipped_before_ += latest_.skipped;
  latest_ = {};
}

void WatchLink::on_stuck() {
  if (handlers_.unreaped) handlers_.unreaped(1);
  if (stuck_) return;  // two are enough: wait until one of them ends
  stuck_ = std::move(worker_);
  respawn();
}

void WatchLink::respawn() {
  const base::TimePoint now = Clock::now();
  supervise::remember(lives_, {started_at_, now});
  loop_.cancel(restart_timer_);
  restart_timer_ = loop_.at(supervise::next_start(lives_, now), [this] { spawn(); });
}

void WatchLink::stop() {
  loop_.cancel(send_timer_);
  loop_.cancel(word_timer_);
  loop_.cancel(restart_timer_);
  keep_counts();
  if (worker_) worker_->send_packet(wire::encode(wire::ToWatcher(wire::WatchStop{})));
  worker_.reset();
  stuck_.reset();
  is_running_ = false;
  is_lost_ = true;
  positions_.clear();
}

exporters::Watch WatchLink::shown() const {
  exporters::Watch shown;
  shown.log_bytes = bytes_before_ + latest_.bytes;
  shown.log_skipped_bytes = skipped_before_ + latest_.skipped;
  shown.log_lag_bytes = latest_.lag;
  shown.log_files = latest_.files;
  shown.log_waiting_files = latest_.waiting;
  const auto add = [&](model::Source source, const std::string& known_trouble) {
    exporters::WatchedSource one;
    one.source = source;
    one.text = !known_trouble.empty() ? known_trouble : is_running_ ? "" : why_lost_;
    one.works = one.text.empty();
    for (const wire::WatchTrouble& trouble : latest_.troubles) {
      if (trouble.source != source) continue;
      // Some files or processes may still be read.
      one.works = one.works && source != model::Source::kernel;
      one.text += (one.text.empty() ? "" : "; ") + trouble.text;
    }
    shown.sources.push_back(std::move(one));
  };
  if (!globs_.empty()) add(model::Source::log, "");
  if (wants_kernel_) add(model::Source::kernel, kernel_trouble_);
  if (processes_.count() > 0) add(model::Source::process, "");
  if (ras_mode_ != "never") {
    add(model::Source::ras, "");
    // Not to be asked is no failure of the watch.
    exporters::WatchedSource& ras = shown.sources.back();
    ras.text += (ras.text.empty() || latest_.ras.empty() ? "" : "; ") + latest_.ras;
  }
  return shown;
}

}  // namespace collwatch::agent
