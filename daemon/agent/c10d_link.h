// SPDX-License-Identifier: Apache-2.0
//
// The agent's one look at this node's libtorch: starts collwatch-probe-c10d once, when rounds here
// have been calm for minutes, takes it away again when they no longer are, and keeps what it told.
// Facts about a library, no verdict: nothing has failed yet. Lives on the event loop's thread.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "daemon/base/event_loop.h"
#include "daemon/supervise/worker.h"
#include "exporters/snapshot.h"
#include "probes/wire/c10d_message.h"

namespace collwatch::agent {

class C10dLink {
 public:
  struct Handlers {
    /// Whether this node has time for it: asked at every check.
    std::function<bool()> is_calm;
    /// It will not be known; called once.
    std::function<void(model::SkipReason reason, const std::string& why)> skipped;
    std::function<void(const exporters::C10d& known)> done;
  };
  struct Options {
    std::string executable;
    base::Millis check_every{5000};
    int calm_checks = 60;   ///< on end, before it is started
    int most_checks = 240;  ///< that it may run for
    int most_starts = 3;    ///< it was taken away so often: enough
  };

  C10dLink(base::EventLoop& loop, Options options, Handlers handlers);
  ~C10dLink();

  void start();
  /// Ends it; no handler is called after this.
  void stop();

  const exporters::C10d& shown() const { return shown_; }

 private:
  void check();
  void spawn();
  void on_packet(const std::string& packet);
  void on_cell(const wire::C10dCell& cell);
  void on_ended(const supervise::ExitFact& fact);
  void skip(model::SkipReason reason, const std::string& why);

  base::EventLoop& loop_;
  const Options options_;
  Handlers handlers_;
  std::unique_ptr<supervise::Worker> worker_;
  base::EventLoop::TimerId timer_ = 0;
  int calm_ = 0;
  int starts_ = 0;
  int running_ = 0;  ///< checks since it was started
  bool is_told_all_ = false;
  exporters::C10d shown_;
};

}  // namespace collwatch::agent
