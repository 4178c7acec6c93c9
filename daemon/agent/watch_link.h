// SPDX-License-Identifier: Apache-2.0
//
// The agent's line to its watcher, collwatch-watch: starts it while there is something to watch,
// tells it what, replaces it when it dies or falls silent, and remembers how far it had read, so
// that the next one goes on there. Never waits for it: a watcher that is stuck in a dead network
// file system is left to the kernel, and its successor keeps away from those. Lives on the event
// loop's thread.
#pragma once

#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "daemon/base/event_loop.h"
#include "daemon/config/config.h"
#include "daemon/supervise/restart_policy.h"
#include "daemon/supervise/worker.h"
#include "exporters/snapshot.h"
#include "probes/wire/watch_message.h"

namespace collwatch::agent {

class WatchLink {
 public:
  struct Handlers {
    std::function<void(const wire::Finding&)> found;
    /// All training jobs here; none once the watcher is gone.
    std::function<void(const wire::WatchedJobs&)> jobs;
    std::function<void()> up;
    /// Something that it cannot read, or the reason why it cannot be started: once each.
    std::function<void(const std::string& text)> trouble;
    /// The watcher is gone or on its way out. `reason` is worker_crash or worker_stuck.
    std::function<void(model::Reason reason, const std::string& why)> down;
    std::function<void(int count)> unreaped;
  };
  struct Options {
    std::string executable;
    std::string node;
    std::string kernel_log = "/dev/kmsg";
    base::Millis silence{6000};      ///< the longest between two heartbeats
    base::Millis first_word{20000};  ///< until its catalogue is compiled, on a busy host
  };

  WatchLink(base::EventLoop& loop, Options options, Handlers handlers);
  ~WatchLink();

  /// From now on this; starts, tells or ends the watcher accordingly.
  void watch(const config::Config::Watch& wanted);
  /// Replaces it when it holds more bytes than that.
  void check_memory(std::uint64_t most);
  /// Ends it; no handler is called after this.
  void stop();

  exporters::Watch shown() const;

 private:
  struct Glob {
    config::Config::WatchedLog log;
    std::int64_t since_ms = 0;
  };

  bool is_needed() const;
  void start();
  void spawn();
  void on_packet(const std::string& packet);
  void on_heartbeat(const wire::Heartbeat& heartbeat);
  void on_ended(const supervise::ExitFact& fact);
  void on_stuck();
  void replace_outdated();
  void keep_counts();
  void lose(model::Reason reason, const std::string& why);
  void respawn();
  void warn_once(const std::string& text);
  wire::WatchPlan plan() const;
  /// Queued: after a restart there may be more to say than the channel holds.
  void say(wire::ToWatcher message);
  void send_queued();
  void expect_word(base::Millis within);

  base::EventLoop& loop_;
  const Options options_;
  Handlers handlers_;
  std::vector<Glob> globs_;
  bool wants_kernel_ = false;
  std::string ras_mode_ = "never";
  config::Endpoint ras_address_;
  std::vector<std::string> ras_left_;  ///< jobs that RAS must not be asked about again
  base::Millis processes_{0};          ///< between two looks at them; 0: never
  std::uint64_t bytes_per_second_ = 0;
  std::string fingerprints_;
  std::uint64_t fingerprints_hash_ = 0;
  bool is_outdated_ = false;  ///< it has other fingerprints, and was asked to end
  std::set<std::string> warned_;
  std::string kernel_trouble_;  ///< why it cannot be read, as far as the daemon can tell
  std::string unavailable_;     ///< why the watcher cannot be started

  std::unique_ptr<supervise::Worker> worker_;
  std::unique_ptr<supervise::Worker> stuck_;  ///< a former one that not even SIGKILL ended
  std::vector<supervise::Life> lives_;
  base::TimePoint started_at_{};
  bool is_running_ = false;  ///< it has said hello
  bool is_lost_ = true;      ///< `down` was told for this one
  std::string why_lost_;
  base::EventLoop::TimerId word_timer_ = 0;
  base::EventLoop::TimerId restart_timer_ = 0;
  base::EventLoop::TimerId send_timer_ = 0;
  base::TimePoint word_due_{};
  std::deque<wire::ToWatcher> queue_;

  std::map<std::pair<std::uint64_t, std::uint64_t>, wire::FilePosition> positions_;
  std::int64_t kernel_sequence_ = -1;
  std::int64_t settled_ns_ = 0;
  wire::Heartbeat latest_;            ///< of the watcher that runs
  std::uint64_t bytes_before_ = 0;    ///< by those that ran before
  std::uint64_t skipped_before_ = 0;  ///< likewise
};

}  // namespace collwatch::agent
