// SPDX-License-Identifier: Apache-2.0
//
// The worker's control thread: reads the daemon's requests, hands them to the edges and the group,
// acknowledges every round at once, and leaves when told to (Stop, SIGTERM) or when the daemon is
// gone (end of the channel). It never waits for an edge, so a missing acknowledgement means that
// this process does not run. A timer of its own, every 50 ms, measures how late this host lets it.
#pragma once

#include <chrono>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "probes/gloo/edge.h"
#include "probes/gloo/group.h"
#include "probes/wire/channel.h"

namespace collwatch::gloo_probe {

/// The worker's part of the protocol besides messages (sysexits(3)).
enum ExitCode { kExitStopped = 0, kExitBadRequest = 64, kExitBug = 70 };

class Control {
 public:
  /// `stop_fd` becomes readable on SIGTERM (a signalfd).
  Control(const wire::Channel& channel, int stop_fd);

  /// Returns when everything is closed. Threads that would not end in time (inside a connect or a
  /// collective) are left to _exit: then it does not return at all.
  ExitCode run();

 private:
  using Clock = std::chrono::steady_clock;

  /// What is to be done after a packet.
  enum class Next { go_on, leave, bad_request };

  Next receive();
  Next handle(const std::string& packet);
  Next on(const wire::Start& start);
  Next on(const wire::EdgePrepare& prepare);
  Next on(const wire::EdgeConnect& connect);
  Next on(const wire::EdgeClose& close);
  Next on(const wire::Round& round);
  Next on(const wire::GroupPrepare& prepare);
  Next on(const wire::GroupConnect& connect);
  Next on(const wire::GroupRun& run);
  Next on(const wire::GroupClose& close);
  Next on(const wire::Stop& stop);
  Next refuse(const std::string& why);

  void tick(Clock::time_point now);
  void close_all();
  void retire(std::unique_ptr<Edge> edge);
  void retire(std::unique_ptr<Group> group);
  bool reap();
  void leave();

  const wire::Channel& channel_;
  const int stop_fd_;
  Reporter reporter_;
  Devices devices_;
  Surroundings around_;
  bool started_ = false;
  std::map<std::string, std::unique_ptr<Edge>> edges_;  // by peer
  std::unique_ptr<Group> group_;
  std::vector<std::unique_ptr<Edge>> retired_edges_;  // cancelled, their threads still ending
  std::vector<std::unique_ptr<Group>> retired_groups_;
  Clock::time_point next_tick_;
  Clock::duration worst_late_{0};
};

}  // namespace collwatch::gloo_probe
