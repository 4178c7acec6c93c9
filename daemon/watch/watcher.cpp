// SPDX-License-Identifier: Apache-2.0
//
// Packets in, looks, packets out. The channel's end is a blocking one: when the daemon does not
// read, nothing is read here either, and the logs wait on disk, where they keep best.
#include "daemon/watch/watcher.h"

#include <sys/epoll.h>
#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <utility>

#include "daemon/follow/mounts.h"
#include "daemon/follow/open_files.h"
#include "daemon/watch/kernel_source.h"

namespace collwatch::watch {
namespace {

using base::Clock;
using base::Millis;

constexpr Millis kBeat{1000};
/// Writers are many and quick: looking at each of their writes would cost more than the lines do.
constexpr Millis kGather{100};

follow::Follower::Surroundings surroundings(const std::string& host) {
  follow::Follower::Surroundings around;
  around.host = host;
  around.is_shared = [](const std::string& path) { return follow::Mounts::now().is_shared(path); };
  around.open_here = [] { return follow::files_open_here(); };
  return around;
}

/// The built-in catalogue, with the user's file over it where there is one.
model::Result<diagnose::Patterns> patterns_with(const std::string& own) {
  auto catalogue = catalogue::Catalogue::built_in();
  if (!catalogue) return model::fail(catalogue.error());
  if (!own.empty()) {
    if (const auto merged = catalogue->merge_file(own); !merged) return model::fail(merged.error());
  }
  return diagnose::Patterns::build(*catalogue);
}

}  // namespace

Watcher::Watcher(base::EventLoop& loop, wire::Channel channel, std::string host)
    : loop_(loop), channel_(std::move(channel)), host_(std::move(host)) {}

Watcher::~Watcher() {
  loop_.cancel(beat_timer_);
  while (!seats_.empty()) unseat(seats_.back()->source.get());
  loop_.unwatch(channel_.fd());
}

model::Result<void> Watcher::start() {
  return loop_.watch(channel_.fd(), EPOLLIN, [this](std::uint32_t) { on_packet(); });
}

void Watcher::on_packet() {
  const wire::Received received = channel_.receive();
  if (received.status != wire::ReceiveStatus::packet) return loop_.stop();  // the daemon is gone
  const auto message = wire::decode_to_watcher(received.packet);
  if (!message) {
    std::fprintf(stderr, "collwatch-watch: %s\n", message.error().text.c_str());
    return loop_.stop();
  }
  if (const auto* start = std::get_if<wire::WatchStart>(&*message)) {
    on_start(*start);
  } else if (const auto* position = std::get_if<wire::FilePosition>(&*message)) {
    if (positions_.size() < wire::kMostKnownFiles) positions_.push_back(*position);
  } else if (const auto* plan = std::get_if<wire::WatchPlan>(&*message)) {
    if (patterns_) on_plan(*plan);
  } else {
    loop_.stop();
  }
}

void Watcher::on_start(const wire::WatchStart& start) {
  auto patterns = patterns_with(start.fingerprints);
  if (!patterns && !start.fingerprints.empty()) {
    trouble_ = "watch.fingerprints is left out: " + patterns.error().text;
    patterns = patterns_with("");
  }
  if (!patterns) {
    std::fprintf(stderr, "collwatch-watch: %s\n", patterns.error().text.c_str());
    return loop_.stop();
  }
  patterns_ = std::make_unique<diagnose::Patterns>(std::move(*patterns));
  wire::WatchHello hello;
  hello.build = COLLWATCH_VERSION;
  hello.pid = ::getpid();
  tell(hello);
  beat();
}

void Watcher::on_plan(const wire::WatchPlan& plan) {
  const Sink sink = [this](const wire::FromWatcher& message) { tell(message); };
  if (logs_ == nullptr && !plan.logs.empty()) {
    auto source = std::make_unique<LogSource>(*patterns_, surroundings(host_), sink);
    logs_ = source.get();
    for (const wire::FilePosition& position : positions_) logs_->remember(position);
    seat(std::move(source));
  }
  positions_.clear();
  if (logs_ != nullptr) logs_->set_plan(plan);
  if (kernel_ == nullptr && plan.kernel) {
    KernelSource::Options options;
    options.after = plan.kernel_after;
    options.own_pids = {::getpid(), ::getppid()};
    auto source = std::make_unique<KernelSource>(*patterns_, std::move(options), sink);
    kernel_ = source.get();
    seat(std::move(source));
  } else if (kernel_ != nullptr && !plan.kernel) {
    unseat(std::exchange(kernel_, nullptr));
  }
  plan_processes(plan.processes_ms);
  plan_ras(plan);
  for (const auto& seat : seats_) look_at(*seat, Clock::now());
}

void Watcher::plan_processes(std::int64_t interval_ms) {
  if (processes_ms_ == interval_ms) return;
  processes_ms_ = interval_ms;
  if (processes_ != nullptr) unseat(std::exchange(processes_, nullptr));
  if (interval_ms <= 0) return tell(wire::WatchedJobs{});
  auto source =
      std::make_unique<ProcessSource>(processes::real_surroundings(), Millis(interval_ms),
                                      [this](const wire::FromWatcher& message) { tell(message); });
  processes_ = source.get();
  seat(std::move(source));
}

void Watcher::plan_ras(const wire::WatchPlan& plan) {
  if (ras_ == nullptr) {
    if (plan.ras_mode == "never") return;
    RasSource::Options options;
    options.processes = [this]() -> const processes::ProcessReport* {
      return processes_ == nullptr ? nullptr : processes_->report();
    };
    auto source = std::make_unique<RasSource>(
        std::move(options), [this](const wire::FromWatcher& message) { tell(message); });
    ras_ = source.get();
    seat(std::move(source));
  }
  ras_->set_plan(plan);
}

void Watcher::seat(std::unique_ptr<Source> source) {
  seats_.push_back(std::make_unique<Seat>());
  seats_.back()->source = std::move(source);
}

void Watcher::unseat(const Source* source) {
  const auto it = std::find_if(seats_.begin(), seats_.end(),
                               [&](const auto& seat) { return seat->source.get() == source; });
  if (it == seats_.end()) return;
  loop_.cancel((*it)->timer);
  for (const int fd : source->descriptors()) loop_.unwatch(fd);
  seats_.erase(it);
}

void Watcher::look_at(Seat& seat, base::TimePoint when) {
  loop_.cancel(seat.timer);
  seat.timer = loop_.at(when, [this, &seat] { look(seat); });
}

void Watcher::look(Seat& seat) {
  seat.looked_at = Clock::now();
  const Clock::duration pause = seat.source->look(seat.looked_at);
  look_at(seat, seat.looked_at + pause);
  for (const int fd : seat.source->descriptors()) {
    (void)loop_.watch(fd, EPOLLIN, [this, &seat, fd](std::uint32_t) {
      loop_.unwatch(fd);  // until it was looked at
      look_at(seat, seat.looked_at + kGather);
    });
  }
}

void Watcher::beat() {
  wire::Heartbeat heartbeat;
  constexpr std::size_t kMostTroubles = 16;
  if (!trouble_.empty()) heartbeat.troubles.push_back({model::Source::log, trouble_});
  for (const auto& seat : seats_) seat->source->add_to(heartbeat);
  if (heartbeat.troubles.size() > kMostTroubles) heartbeat.troubles.resize(kMostTroubles);
  tell(heartbeat);
  beat_timer_ = loop_.after(kBeat, [this] { beat(); });
}

void Watcher::tell(const wire::FromWatcher& message) {
  if (!channel_.send(wire::encode(message))) loop_.stop();
}

}  // namespace collwatch::watch
