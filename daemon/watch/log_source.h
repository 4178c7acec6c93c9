// SPDX-License-Identifier: Apache-2.0
//
// The logs of watch.logs as a source: inotify says when, the follower says what is new, a reader
// per file says what it means.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "daemon/follow/changes.h"
#include "daemon/follow/follower.h"
#include "daemon/watch/log_reader.h"
#include "daemon/watch/repeats.h"
#include "daemon/watch/source.h"

namespace collwatch::watch {

class LogSource final : public Source {
 public:
  /// `patterns` must live longer.
  LogSource(const diagnose::Patterns& patterns, follow::Follower::Surroundings surroundings,
            Sink sink);

  void remember(const wire::FilePosition& position) { follower_.remember(position); }
  void set_plan(const wire::WatchPlan& plan);

  base::Clock::duration look(base::TimePoint now) override;
  std::vector<int> descriptors() const override;
  void add_to(wire::Heartbeat& heartbeat) const override;

 private:
  void on_text(const follow::FollowedText& lines);

  const diagnose::Patterns& patterns_;
  Sink sink_;
  follow::Follower follower_;
  follow::Changes changes_;
  Repeats repeats_;
  std::map<follow::FileIdentity, std::unique_ptr<LogReader>> readers_;
  base::TimePoint now_{};
};

}  // namespace collwatch::watch
