// SPDX-License-Identifier: Apache-2.0
//
// The watcher's loop: takes its plan from the daemon, lets the sources look, tells what they find,
// and once a second that it lives. Ends when the daemon says so or is gone. One thread.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "daemon/base/event_loop.h"
#include "daemon/diagnose/patterns.h"
#include "daemon/watch/log_source.h"
#include "daemon/watch/process_source.h"
#include "daemon/watch/ras_source.h"
#include "daemon/watch/source.h"
#include "probes/wire/channel.h"
#include "probes/wire/watch_message.h"

namespace collwatch::watch {

class Watcher {
 public:
  Watcher(base::EventLoop& loop, wire::Channel channel, std::string host);
  ~Watcher();

  model::Result<void> start();

 private:
  /// A source in the loop: watched and timed between looks, neither while a look is due.
  struct Seat {
    std::unique_ptr<Source> source;
    base::EventLoop::TimerId timer = 0;
    base::TimePoint looked_at{};
  };

  void on_packet();
  void on_start(const wire::WatchStart& start);
  void on_plan(const wire::WatchPlan& plan);
  void plan_ras(const wire::WatchPlan& plan);
  void plan_processes(std::int64_t interval_ms);
  void seat(std::unique_ptr<Source> source);
  void unseat(const Source* source);
  void look(Seat& seat);
  void look_at(Seat& seat, base::TimePoint when);
  void beat();
  void tell(const wire::FromWatcher& message);

  base::EventLoop& loop_;
  wire::Channel channel_;
  std::string host_;
  std::unique_ptr<diagnose::Patterns> patterns_;
  std::string trouble_;  ///< with the user's own fingerprints
  std::vector<std::unique_ptr<Seat>> seats_;
  LogSource* logs_ = nullptr;
  Source* kernel_ = nullptr;
  ProcessSource* processes_ = nullptr;
  RasSource* ras_ = nullptr;
  std::int64_t processes_ms_ = 0;  ///< the interval that processes_ was made with
  std::vector<wire::FilePosition> positions_;
  base::EventLoop::TimerId beat_timer_ = 0;
};

}  // namespace collwatch::watch
