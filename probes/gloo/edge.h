// SPDX-License-Identifier: Apache-2.0
//
// One attempt at an edge towards one peer, from the meeting to its first failure, on a thread of
// its own:
//
//   prepared --connect()--> connecting --warm-up exchange--> open --first failure--> over
//       \---------------- cancel(): no report, from anywhere ----------------------> over
//
// "Connected" is only believed after an exchange: a Gloo pair of the 2022 build takes any caller
// for its peer. On a failure the context is destroyed first (Gloo's loop thread may spin until
// then) and reported second, once. All public functions are the control thread's and never block,
// except the destructor, which joins: destroy an Edge once over() is true, or when leaving.
#pragma once

#include <atomic>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>

#include "probes/gloo/connect_watch.h"
#include "probes/gloo/link.h"
#include "probes/gloo/store.h"
#include "probes/gloo/surroundings.h"
#include "probes/wire/message.h"

namespace collwatch::gloo_probe {

class Edge {
 public:
  Edge(const Surroundings& around, wire::EdgePrepare prepare);
  ~Edge();
  Edge(const Edge&) = delete;
  Edge& operator=(const Edge&) = delete;

  std::uint64_t attempt() const { return prepare_.attempt; }
  /// The meeting's result; the first one counts.
  void connect(const wire::EdgeConnect& connect);
  /// Rank 0 of an open edge starts an exchange, after the one in progress if there is one; a round
  /// that was still waiting is replaced. Everybody else ignores it.
  void round(std::int64_t number, int timeout_ms, std::uint32_t large_bytes);
  /// Close without a report.
  void cancel();
  /// Every now and then: reports a connect that is past its deadline.
  void tick(Clock::time_point now);
  /// The thread has nothing more to do; destruction will not block.
  bool over() const { return over_; }

 private:
  struct Task {
    std::int64_t number = 0;
    milliseconds timeout{0};
    std::uint32_t large_bytes = 0;
  };

  void run();
  void live();
  void open();
  void connect_context(const std::shared_ptr<GlooDevice>& device);
  void warm_up();
  void start_rounds();
  void answer_rounds();
  void before_connect(const wire::Blob& own, const wire::Blob& theirs);
  void destroy_context();
  void enter(model::Phase phase);
  void report(const wire::EdgeReport& report);
  void report_ok(model::Phase phase, const Exchange& done);
  void report_failure(const Failure& failure, std::int64_t round, std::uint32_t failed_bytes);
  wire::EdgeReport blank_report(model::Phase phase) const;
  milliseconds timeout() const { return milliseconds(prepare_.timeout_ms); }

  const Surroundings& around_;
  const wire::EdgePrepare prepare_;
  const std::string scope_;
  std::shared_ptr<MeetingStore> store_;
  std::shared_ptr<GlooContext> context_;  // the edge's thread only
  model::Phase phase_ = model::Phase::device_init;

  ConnectWatch watch_;
  std::atomic<bool> cancelled_{false};
  std::atomic<bool> over_{false};
  std::mutex mutex_;
  std::string context_id_;  // written before the store delivers
  std::optional<Task> task_;
  std::unique_ptr<Link> link_;  // made and destroyed by the edge's thread, nudged by others
  std::thread thread_;          // last: everything above is there when it starts
};

}  // namespace collwatch::gloo_probe
