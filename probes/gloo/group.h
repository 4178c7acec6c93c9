// SPDX-License-Identifier: Apache-2.0
//
// One attempt at the group context, the same way of life as an Edge: prepared, connected by the
// meeting's result, proven by a warm-up barrier, then runs of collectives until the first failure,
// which destroys the context at once. Only wrong values end a run at its end: then all members tell
// each other whose they were. A collective in progress cannot be interrupted (Gloo lends no
// handle on it): a cancelled group ends silently when its own deadline does. Public functions are
// the control thread's and never block, except the destructor.
#pragma once

#include <atomic>
#include <condition_variable>
#include <memory>
#include <mutex>
#include <optional>
#include <thread>

#include "probes/gloo/connect_watch.h"
#include "probes/gloo/store.h"
#include "probes/gloo/surroundings.h"
#include "probes/wire/message.h"

namespace collwatch::gloo_probe {

inline constexpr int kMaxGroupSize = 12;  // what a packet of blobs has room for

class Group {
 public:
  Group(const Surroundings& around, wire::GroupPrepare prepare);
  ~Group();
  Group(const Group&) = delete;
  Group& operator=(const Group&) = delete;

  std::uint64_t attempt() const { return prepare_.attempt; }
  void connect(const wire::GroupConnect& connect);
  /// After the run in progress; one that was still waiting is replaced.
  void run(wire::GroupRun run);
  void cancel();
  void tick(std::chrono::steady_clock::time_point now);
  bool over() const { return over_; }

 private:
  void live();
  void open();
  void connect_context(const std::shared_ptr<GlooDevice>& device);
  void run_all(const wire::GroupRun& run);
  void run_step(const wire::GroupRun& run, std::uint32_t index);
  void agree_on_wrong_ones(const wire::GroupRun& run);
  void before_connect(const wire::Blob& own, const wire::Blob& theirs);
  wire::GroupRun await_run();
  void enter(model::Phase phase);
  void report_failure(const Failure& failure);
  std::chrono::milliseconds timeout() const {
    return std::chrono::milliseconds(prepare_.timeout_ms);
  }

  const Surroundings& around_;
  const wire::GroupPrepare prepare_;
  std::shared_ptr<MeetingStore> store_;

  // The group's thread only.
  std::shared_ptr<GlooContext> context_;
  model::Phase phase_ = model::Phase::device_init;
  std::chrono::steady_clock::time_point connect_deadline_;
  wire::CollectiveReport current_;  ///< what a failure will be reported as
  std::uint32_t wrong_from_ = 0;    ///< in this run, see Verified
  std::optional<wire::CollectiveReport> corrupt_;  ///< this run's first step with wrong values

  ConnectWatch watch_;
  std::atomic<bool> cancelled_{false};
  std::atomic<bool> over_{false};
  std::mutex mutex_;
  std::condition_variable changed_;
  std::optional<wire::GroupRun> run_;
  std::thread thread_;  // last: everything above is there when it starts
};

}  // namespace collwatch::gloo_probe
