// SPDX-License-Identifier: Apache-2.0
//
// The kernel's log as a source: GPU errors, processes killed for memory, network links that go
// down. Only records that are newer than the start of the watch, or than the last one that an
// earlier watcher read. Missing permission is a trouble to be told, not an error.
#pragma once

#include <set>
#include <string>
#include <vector>

#include "daemon/diagnose/collector.h"
#include "daemon/supervise/unique_fd.h"
#include "daemon/watch/kernel_record.h"
#include "daemon/watch/repeats.h"
#include "daemon/watch/source.h"

namespace collwatch::watch {

class KernelSource final : public Source {
 public:
  struct Options {
    std::string path = "/dev/kmsg";
    std::int64_t after = -1;  ///< resume behind this record; -1: from now on
    std::set<long> own_pids;  ///< whose end is no news of the job
  };

  KernelSource(const diagnose::Patterns& patterns, Options options, Sink sink);

  base::Clock::duration look(base::TimePoint now) override;
  std::vector<int> descriptors() const override;
  void add_to(wire::Heartbeat& heartbeat) const override;

  /// One record, as look() treats it. For tests.
  void on_record(std::string_view bytes, base::TimePoint now);

 private:
  void open();
  void pass_over();
  bool is_ours(const diagnose::Event& event) const;

  const Options options_;
  Sink sink_;
  diagnose::Collector collector_;
  supervise::UniqueFd fd_;
  std::string trouble_;
  std::int64_t last_ = -1;
  Repeats repeats_;
};

}  // namespace collwatch::watch
