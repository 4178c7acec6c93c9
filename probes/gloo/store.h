// SPDX-License-Identifier: Apache-2.0
//
// The rendezvous store that Gloo sees. Behind it there is no server: what Gloo sets for our own
// rank goes out through the daemon to the meeting, and what it asks about the others blocks until
// the daemon brings the meeting's result, or until one absolute deadline. (Gloo passes no deadline
// to get(), and the 2022 build asks for host names with it: thirty seconds with the stock stores.)
// Gloo's calls come from the edge's or group's own thread; deliver() and interrupt() from the
// control thread, never blocking.
#pragma once

#include <chrono>
#include <condition_variable>
#include <functional>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "probes/gloo/failure.h"
#include "probes/gloo/mesh.h"

namespace collwatch::gloo_probe {

class MeetingStore : public GlooStore {
 public:
  using Clock = std::chrono::steady_clock;

  struct Options {
    int rank = 0;
    int size = 0;
    Clock::time_point deadline;
    /// Our own record, once; on Gloo's thread.
    std::function<void(const wire::Blob&)> publish;
    /// Called before each peer's record is handed to Gloo, which then connects to it; on Gloo's
    /// thread; may throw.
    std::function<void(const wire::Blob& own, const wire::Blob& theirs)> before_connect;
  };

  explicit MeetingStore(Options options) : options_(std::move(options)) {}

  /// The records of all members by rank. Ours is ignored. The first delivery counts.
  void deliver(std::vector<wire::Blob> records);
  /// The meeting went wrong: whoever waits, and whoever comes, throws `failure`.
  void refuse(Failure failure);
  /// Whoever waits, and whoever comes, throws Interrupted.
  void interrupt();

  void set(const std::string& key, const std::vector<char>& data) override;
  std::vector<char> get(const std::string& key) override;
  void wait(const std::vector<std::string>& keys) override;
  void wait(const std::vector<std::string>& keys,
            const std::chrono::milliseconds& timeout) override;

 private:
  void await_delivery();
  std::optional<int> rank_of(const std::string& key) const;

  const Options options_;
  wire::Blob own_record_;  // Gloo's thread only
  bool met_ = false;       // and this
  std::mutex mutex_;
  std::condition_variable changed_;
  std::vector<wire::Blob> records_;  // empty until delivered
  std::optional<Failure> refused_;
  bool interrupted_ = false;
};

}  // namespace collwatch::gloo_probe
